"""Least-squares fits of a node's free parameters to isolated runs, and the values written back to
the files.

It knows the comparison. It must not know pages.
"""
