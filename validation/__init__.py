"""Predictions held against measurements: records, comparison, fits, pages, importers, and the
native probe.

The rest of the package must not import it; the command line does, when a command needs it.
"""
