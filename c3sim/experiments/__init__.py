"""Many runs with a question: cases, a row of numbers of each, what is concluded from the rows.

It runs workloads as any user does, through ``evaluation``. It must not know flows or events, nor of
the command line.

    axes, outputs, setup, plan, points   scenarios crossed with axes; one point reduced to a row
    cases, iterations, serving           the same as cases of a study
    jobs, copying, starting              work in batches over processes: copies, loky, or Dask
    sweep, store, result_files           a folder of rows that survives a kill; Parquet
    bands, sensitivity, search           parameters within intervals, what matters, the best designs
    study, claims, papers                kinds of studies, and published figures beside ours
    draws, answer, pairs, savings, trees what kinds conclude from their rows
    subjects                             workloads that no file describes
"""
