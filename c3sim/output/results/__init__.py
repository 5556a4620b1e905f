"""A result file as a table of columns with units and labels: what pictures and the page read.

It knows neither matplotlib nor HTML.
"""
