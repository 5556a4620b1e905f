"""Kind ``cache_policies``: which policy suits which application, and do optimisations suit all?

    applications    what each accesses, from its shape
    machines        a published machine and nodes, at what is guessed of them
    study           times, classes, claims; the result
    table, picture  what is printed and drawn

It must not know of workloads and strategies: a kernel runs alone.
"""

from c3sim.studies.cache_policies.picture import draw
from c3sim.studies.cache_policies.study import CachePoliciesResult, run
from c3sim.studies.cache_policies.table import tables
from c3sim.studies.kind import Kind

KIND: Kind[CachePoliciesResult] = Kind(run=run, tables=tables, draw=draw)
