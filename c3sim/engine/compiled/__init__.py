"""Optional compiled loops (numba) for runs with hundreds of flows: the same results up to rounding.

A run that does not ask for them must not import them. They must not know GPUs.
"""
