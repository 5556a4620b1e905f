"""Kind ``dma_variants``: which command program on DMA engines is the quickest for which size?

    study           times of all variants and of compute units, phases of one copy; the result
    claims          ratios of times beside the published ones
    energy          energy and power of the same runs, with bands
    table, energy_table, picture

It must not know of anything that runs beside the collective (kind ``c3_variants``), nor how a
variant is built (:mod:`c3sim.tasks.engine_collective`).
"""

from c3sim.studies.dma_variants.picture import draw
from c3sim.studies.dma_variants.study import DmaVariantsResult, run
from c3sim.studies.dma_variants.table import tables
from c3sim.studies.kind import Kind

KIND: Kind[DmaVariantsResult] = Kind(run=run, tables=tables, draw=draw)
