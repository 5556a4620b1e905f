"""Fits the free parameters of a node to isolated runs, and writes the values into its files.

    calibrate          groups of parameters, in the order of fitting
    fit, search        one group: least squares, and how certain the result is
    parameters         a free parameter, and what came of it
    calibration_*      a calibration as a table, as text, written into hardware files

It knows the comparison. It must not know pages.
"""
