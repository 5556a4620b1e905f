"""What a person reads after a run: tables, pictures, traces. Nothing here computes a result.

    tables       run, compare and explain tables for the terminal
    plot         the timeline of one run, with utilisation under it
    trace        the timeline as a Perfetto trace
    look         colours, units of axes and saving, shared by the pictures
    layout       the building blocks of the tables
    text         how numbers are written
    steps        arithmetic on step functions of time
    files        writing a file whole or not at all

rich, matplotlib and perfetto are imported when a function needs them, never on ``import c3sim``.
"""
