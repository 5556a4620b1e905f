"""Pictures: the timeline of a run, and result files of a sweep, a search or a sensitivity study.

They must not simulate. matplotlib is imported when a function needs it.

    timeline, timeline_panels          what ran when, and what each resource was used for
    kind                               which kind of picture suits a result file, and its axes
    lines, heatmap, pareto, tornado    one kind of picture each
    axes, panels, draw                 ticks and labels; small multiples; the parts put together
"""
