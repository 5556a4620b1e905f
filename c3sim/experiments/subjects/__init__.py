"""Workloads that no file describes, built from the shapes that a study gives.

    applications   kernels of applications by what they access, and a published machine for them
    operators      an operator and its collective, fused or one after the other; a training step
    sub_layer      a GEMM and the all-reduce behind it, one after the other or tracked in memory
    beside         a GEMM and a collective of which one lasts longer than the other

They must not know what is concluded from their runs.
"""
