"""Kind ``pieces``: which way of running a dependent collective and GEMM piece by piece is the
quickest, and what does a heuristic from sizes alone give away?

    cases           GEMMs x nodes x collectives, by engines or by kernels
    outcomes        one of them under every schedule, with its losses
    heuristic       a decision tree on static sizes
    study           all of it, fitted on half and scored on the other half; the result
    table, picture  what is printed and drawn

It must not know how a schedule is written out (:mod:`c3sim.schedules`).
"""

from c3sim.studies.kind import Kind
from c3sim.studies.pieces.picture import draw
from c3sim.studies.pieces.study import PiecesResult, run
from c3sim.studies.pieces.table import tables

KIND: Kind[PiecesResult] = Kind(run=run, tables=tables, draw=draw)
