"""Drivers that run ordinary programs of a framework on real GPUs, a process per GPU.

They need the framework and its GPUs. They leave the framework's own profiler traces, and times. A
driver must not know the model, and nothing of c3sim imports one.
"""
