"""Kind ``operator_shares``: where does the time of an iteration go, operator by operator, and how
does that move with the model's size, precision and parallelism?

    study           shares of each configuration on each node; the result
    claims          published shares beside the same here
    table, picture  what is printed and drawn

It must not know how an iteration is built or run.
"""

from c3sim.studies.kind import Kind
from c3sim.studies.operator_shares.picture import draw
from c3sim.studies.operator_shares.study import SharesResult, run
from c3sim.studies.operator_shares.table import tables

KIND: Kind[SharesResult] = Kind(run=run, tables=tables, draw=draw)
