"""What-if exploration: all points of a study, which parameter moves a result, the best designs.

It runs workloads as any user does, through ``evaluation``. It must not know flows or events.

    axes, outputs        what varies, and what a run gives, by name
    setup, plan          a study checked, and its points in order
    points               one point built, run and reduced to a row
    jobs                 batches over processes: joblib with loky, or Dask
    store, sweep         a folder of results that survives a kill, and the sweep that fills it
    bands, sensitivity   parameters drawn within their intervals; which of them moves a result most
    search               designs proposed by Optuna, and the best of them
    result_files         Parquet files that ``c3sim plot`` draws
"""
