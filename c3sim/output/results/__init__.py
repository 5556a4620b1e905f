"""A result file as a table of columns with units and labels: what pictures and the page read.

It must not know matplotlib or HTML.
"""
