"""An iteration of a profiler trace, as a workload that replays it.

It must not know records, nor formats other than that of the PyTorch profiler.
"""
