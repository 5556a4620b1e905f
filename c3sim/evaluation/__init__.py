"""What a user asks of one run: the result, notes on it, and where the time went.

It knows strategies and simulation. It must not know studies, sweeps, tables or pictures.
"""
