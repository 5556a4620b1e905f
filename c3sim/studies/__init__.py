"""Studies: scenarios crossed with axes, run under several strategies, and what is concluded.

A study file says its ``kind``; a folder here answers it. Each folder has the study itself (``run``
and its frozen result), its table and its picture:

    sweep          rows only
    c3             fractions of ideal overlap beside published ones
    dma_variants   programs of DMA engines alone, in time and energy
    c3_variants    the same beside a GEMM: which wins, and the regret of ways to choose
    pieces         a collective and a GEMM of which one feeds the other, piece by piece
    kv_fetch       keys and values from host memory: latency and throughput of serving
    operator_shares   where the time of an iteration goes, operator by operator
    training_overlap  how much communication of a training step hides, and what limits it
    channels       what one more channel costs a GEMM and gives a collective
    fused          computation and collective in one kernel, or one after the other
    t3             a GEMM whose stores trigger the reduce-scatter behind it, in memory

What they share lies beside them:

    kinds, kind        the table of kinds, from a file to the result of its kind; what a kind is
    settings           values given for a whole study
    cases              scenarios and axes as workloads on nodes
    iterations         the same as iterations of models
    rows               every case under every strategy
    parallel           a function over all cases, in several processes where it pays
    show               what tables and pictures of several kinds share
    plain              results as plain data for JSON

This package must not know of the command line, nor how a run is simulated: it asks for runs and
draws conclusions. A kind must not know of another one (c3 has the rows of a sweep).
"""

from c3sim.studies.kind import Options, StudyResult
from c3sim.studies.kinds import run_study

__all__ = ["Options", "StudyResult", "run_study"]
