"""Kind ``sweep``: what are the outputs of every case under every strategy? Nothing is concluded.

It must not know what its scenarios are about: any workload has rows. ``c3sim sweep`` runs the same
points, resumably and into a file (:mod:`c3sim.experiments`).
"""

from c3sim.studies.kind import Kind
from c3sim.studies.sweep.study import SweepResult, run
from c3sim.studies.sweep.table import tables

KIND: Kind[SweepResult] = Kind(run=run, tables=tables)
