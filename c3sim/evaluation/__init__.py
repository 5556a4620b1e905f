"""One run and its answer: result, notes, and where the time went.

It knows strategies and simulation. It must not know studies, sweeps, tables or pictures.
"""
