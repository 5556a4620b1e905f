"""What runs on the clock: tasks of a workload, and under them kernels, collectives, DMA engines and
the network.

It knows models, machine and engine. It must not know strategies, results or files.
"""
