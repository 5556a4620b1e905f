"""Inference of language models: steps of prefill and decode, KV blocks fetched from host memory, a
queue of requests.

=============  ===============================================================================
kv.py          sizes of the KV cache: blocks, copies, what fits into memory; a fetch as copies one
               by one, gather kernel, or batched DMA, and its time alone
steps.py       layers of a model as tasks of a workload; the time of a step, alone and beside a
               fetch, from simulations of one layer of each kind
scheduler.py   requests, and the queue: continuous batching of steps over time; its measures
=============  ===============================================================================

All that it knows of the hardware comes from simulations of :mod:`c3sim.simulation.runs`. It
must not know any device.
"""
