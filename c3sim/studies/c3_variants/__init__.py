"""Kind ``c3_variants``: which DMA variant is the best beside a GEMM, and what does a way to choose
one give away?

    study           all variants beside the GEMM, the best one, the regret of each chooser
    table, picture  what is printed and drawn

It must not know how a strategy chooses (:mod:`c3sim.strategies.dma_variants`), nor of published
figures: nobody has published the two together.
"""

from c3sim.studies.c3_variants.picture import draw
from c3sim.studies.c3_variants.study import C3VariantsResult, run
from c3sim.studies.c3_variants.table import tables
from c3sim.studies.kind import Kind

KIND: Kind[C3VariantsResult] = Kind(run=run, tables=tables, draw=draw)
