"""Kernels: dispatch of workgroups to compute units, residency, GEMMs and kernels that stream
memory.

It must not know DMA engines or collectives.
"""
