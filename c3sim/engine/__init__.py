"""Event engine: max-min fair sharing, flows at solved rates, and the clock that orders them.

It knows names and numbers only. It must not know GPUs, specs, units or any other package of c3sim.
"""
