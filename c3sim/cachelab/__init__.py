"""A cache laboratory: kernels as streams of lines, followed through caches, miss queues and rows of
DRAM line by line.

    stream.py     one launch as lines in program order, by workgroup
    nests.py      loop nests of applications -> launches
    machine.py    the caches, banks, channels and rows of a GPU; data in machines.yaml
    state.py      caches, queues and channels as arrays
    loop.py       a line through them (compiled where numba is installed)
    turns.py      whose line is next: workgroups in order of time
    laboratory.py launches under a policy -> counts, sampled, with the error of the sample
    served.py     counts as the kernels of the fluid model take them
    stack.py      the LRU stack: distances and hits by the definition (the oracle)

It runs no workload and knows no fluid model: counts go out as ``Served`` of a kernel. It must not
know tasks, strategies or the clock of the simulator.
"""
