"""T3's hardware: stores of a GEMM that memory adds up and counts, and that start the transfers of a
reduce-scatter; the memory controller that serves both. In windows of a microsecond.

It must not know the clock, machines, processes or tasks: it has a loop of its own.
"""
