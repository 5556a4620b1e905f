"""Inference of language models: steps of prefill and decode, KV blocks fetched from host memory, a
queue of requests.

=============  ===============================================================================
layers.py      one layer of a model as tasks of a workload: GEMMs, attention, all-reduces
kv.py          sizes: blocks that a request fetches, bytes of one copy, what fits into memory
fetch.py       a fetch as copies one by one, gather kernel, or batched DMA; its time alone
grids.py       functions that cost a simulation, remembered on a grid
steps.py       the time of a step, alone and beside a fetch, from simulations of one layer
requests.py    requests: arrivals, and the measures of a run
scheduler.py   the queue: continuous batching of steps over time
=============  ===============================================================================

All that it knows of the hardware comes from simulations of :mod:`c3sim.simulation.runs`. It
must not know any device.
"""
