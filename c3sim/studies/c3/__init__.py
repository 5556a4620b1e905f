"""Kind ``c3``: how much of the ideal overlap of a GEMM and a collective does each strategy reach?

    study             rows, means and scenarios; the result
    summary           classes of scenarios, and what is concluded from the rows of a strategy
    draws, replay     what may have been otherwise (``band`` of the file), and the means under it
    pairs             the means over other admissible tables of scenarios (``pool`` of the file)
    effects           what one assumption or parameter alone does to the means
    answer, band      the means as bands beside published ones; how often their order holds
    characterisation  isolated behaviour that publications report beside their means
    table, answer_table, picture
                      what is printed and drawn

It must not know how a strategy works, nor of variants of DMA programs. Published figures stand
beside the simulated ones and are never an input.
"""

from c3sim.studies.c3.picture import draw
from c3sim.studies.c3.study import C3Result, run
from c3sim.studies.c3.table import tables
from c3sim.studies.kind import Kind

KIND: Kind[C3Result] = Kind(run=run, tables=tables, draw=draw)
