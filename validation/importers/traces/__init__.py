"""What all importers of traces share: intervals, episodes of overlap, kernel names, records.

It must not know other formats.
"""
