"""What-if exploration: every point of a study, which parameter moves the result, and the best
designs within limits.

    axes.py         values of an axis: lists, ranges, linked axes
    outputs.py      what a point gives, by name
    setup.py        what all points of a study share, checked
    plan.py         a study as the ordered list of its points, and what tells it from another
    points.py       one point: models built, run, reduced to a row; and built again from a file of results
    executor.py     batches over processes: joblib with loky, or Dask
    store.py        a folder of results that survives being killed
    sweep.py        all of it together
    identity.py     hashes of data and code
    intervals.py    parameters with an interval, and samples of them
    uncertainty.py  the band of a prediction
    sensitivity.py  one at a time, and Sobol indices
    search.py       designs by Optuna, and the front of the best

It uses the simulator as anybody does: nothing here knows of flows or events.
"""
