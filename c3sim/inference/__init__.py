"""Inference of language models: steps of prefill and decode, KV blocks fetched from host memory, a
queue of requests.

    layers.py    one layer of a model as tasks of a workload: GEMMs, attention, all-reduces
    kv.py        sizes: which blocks a request fetches, what one copy moves, what fits into memory
    fetch.py     the fetch as copies one by one, gather kernel, batched DMA; what it takes alone
    grids.py     functions that cost a simulation, remembered on a grid
    steps.py     what a step takes, alone and beside a fetch, from simulations of one layer
    requests.py  requests: arrivals, and what is measured of each
    engine.py    the queue: continuous batching of steps over time

Everything about the hardware comes from simulations of :mod:`c3sim.simulation.runs`; nothing here knows a device.
"""
