"""One run of one workload on one node: the clock driven to the end, folding of like GPUs, counters.

It knows processes and machine. It must not know strategies, studies or output.
"""
