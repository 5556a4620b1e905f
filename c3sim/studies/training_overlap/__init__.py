"""Kind ``training_overlap``: how much of a training step's communication hides behind computing, by
the variant of its overlap, and what limits it?

    study           every variant of every iteration on every node; the result
    limits          what a step would gain if its two sides did not share one thing
    table, picture  what is printed and drawn

It must not know how an iteration is built, nor which kinds of parallelism it has.
"""

from c3sim.studies.kind import Kind
from c3sim.studies.training_overlap.picture import draw
from c3sim.studies.training_overlap.study import OverlapResult, run
from c3sim.studies.training_overlap.table import tables

KIND: Kind[OverlapResult] = Kind(run=run, tables=tables, draw=draw)
