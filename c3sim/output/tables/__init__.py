"""Tables for the terminal, one module for each command: run (also compare and explain), sweep, search, sensitivity.

They read results that are complete; they compute none.
"""
