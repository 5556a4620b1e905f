"""Predictions held against measurements: records, comparison, fits, pages, importers, and the
native probe.

Nothing but the command line imports it, and only when a command needs it.
"""
