"""Tables for the terminal, a module for each command; ``run`` has those of compare and explain too.

They read complete results, and must not compute any.
"""
