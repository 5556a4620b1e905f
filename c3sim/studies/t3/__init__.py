"""Kind ``t3``: does it pay to let stores of a GEMM trigger the reduce-scatter behind it, in memory?

    workloads       a sub-layer as tasks: one after the other, tracked, or parts of it alone
    study           rows of sub-layers, traffic, speedups beside published ones; the result
    table, picture  what is printed and drawn

The mechanisms are the node's: updates and arbitration of memory, triggers of DMA engines.

It must not know how memory arbitrates, nor how a tracker counts.
"""

from c3sim.studies.kind import Kind
from c3sim.studies.t3.picture import draw
from c3sim.studies.t3.study import T3Result, run
from c3sim.studies.t3.table import tables

KIND: Kind[T3Result] = Kind(run=run, tables=tables, draw=draw)
