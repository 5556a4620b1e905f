"""Workloads that no file describes, built from the shapes that a study gives, and the row of a run.

    applications     kernels of applications by what they access, and a published machine for them
    operators        an operator and its collective, fused or one after the other; a step around it
    fusing           what the fused one saves, part by part; a step; the skew of two nodes
    sub_layer        a GEMM and the all-reduce behind it, one after the other or tracked in memory
    tensor_parallel  all such layers of a model, their steps, bytes and ideals
    beside           a GEMM and a collective of which one lasts longer than the other
    isolated         what publications report of one task alone
    pieces           a GEMM and a collective of which one feeds the other, under every schedule
    policies         tasks that keep, stream or bypass caches
    programs         command programs of DMA engines: times, phases, energies
    shares           where the time of an iteration goes, by class of operators
    variants         a collective by every DMA variant beside a GEMM

They must not know what is concluded from their runs.
"""
