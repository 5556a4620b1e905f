"""Kind ``kv_fetch``: does it pay to fetch keys and values of a prompt from host memory by batched
DMA, and why (not)?

    cases           what is served, on which node
    study           latency and throughput by four methods, costs of one copy, claims; the result
    table, picture  what is printed and drawn

It must not know of workloads, GEMMs and strategies: what runs is a queue of requests
(:mod:`c3sim.inference`).
"""

from c3sim.studies.kind import Kind
from c3sim.studies.kv_fetch.picture import draw
from c3sim.studies.kv_fetch.study import KvFetchResult, run
from c3sim.studies.kv_fetch.table import tables

KIND: Kind[KvFetchResult] = Kind(run=run, tables=tables, draw=draw)
