"""Optional compiled loops (numba) for runs with hundreds of flows: the same results up to rounding.

It must not be imported unless a run asks for it; like the rest of the engine it knows no GPU.
"""
