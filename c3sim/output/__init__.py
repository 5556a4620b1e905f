"""Output for people: tables, pictures, traces, pages. It must not compute results.

    kit         what all of them share: files, look, tables, numbers as text
    tables      tables for the terminal
    results     a result file as columns with units and labels
    pictures    the timeline of a run; result files as lines, heat map, Pareto front or tornado
    page        a sweep as one interactive HTML file
    trace       the timeline as a Perfetto trace

rich, matplotlib, pyarrow and perfetto are imported when a function needs them.
"""
