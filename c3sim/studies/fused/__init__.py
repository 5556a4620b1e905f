"""Kind ``fused``: computation and collective in one persistent kernel, against one after the other.

workloads       an operator as tasks, unfused and fused, and a training step around it
study           rows of configurations, skew, a step on many nodes; the result
table, picture  what is printed and drawn

It must not know how a kernel stores at peers: a store of a slice is a copy whose engine takes no
time of its own.
"""

from c3sim.studies.fused.picture import draw
from c3sim.studies.fused.study import FusedResult, run
from c3sim.studies.fused.table import tables
from c3sim.studies.kind import Kind

KIND: Kind[FusedResult] = Kind(run=run, tables=tables, draw=draw)
