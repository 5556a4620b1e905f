"""Pictures of result files: what a sweep, a search or a sensitivity study wrote, drawn by the kind
that suits it.

    table      a result file as columns with units and labels
    columns    one column: what it is called, in which unit it is shown, which way is better
    where      rows picked by conditions such as strategy=sp
    kind       which kind of picture suits the data, and what goes on its axes
    axes       ticks and labels of an axis
    lines, heatmap, pareto, tornado    one kind of picture each
    draw       the parts put together

Nothing here simulates. matplotlib and pyarrow are imported when a function needs them.
"""
