"""Kind ``channels``: what does one more channel of a collective cost the GEMM beside it, and what
does it give the collective?

    study           both curves of each GEMM on each node; the result
    beside          the runs: a GEMM beside a longer collective, a collective beside a longer GEMM
    table, picture  what is printed and drawn

It must not know how channels are dealt, nor what they take from a GEMM.
"""

from c3sim.studies.channels.picture import draw
from c3sim.studies.channels.study import ChannelsResult, run
from c3sim.studies.channels.table import tables
from c3sim.studies.kind import Kind

KIND: Kind[ChannelsResult] = Kind(run=run, tables=tables, draw=draw)
