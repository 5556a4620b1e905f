"""Kind ``keep_or_stream``: do cache policies help a GEMM beside collectives and copies?

    policies        what is tried
    study           wall times and gains, with a band; the result
    table, picture  what is printed and drawn

It must not know of clocks and rates: it reads wall times.
"""

from c3sim.studies.keep_or_stream.picture import draw
from c3sim.studies.keep_or_stream.study import KeepOrStreamResult, run
from c3sim.studies.keep_or_stream.table import tables
from c3sim.studies.kind import Kind

KIND: Kind[KeepOrStreamResult] = Kind(run=run, tables=tables, draw=draw)
