"""Drivers that run ordinary programs of a framework on real GPUs, a process per GPU.

They need the framework and its GPUs, and nothing of c3sim. Nothing of c3sim imports them. They must
not know the model: what they leave are the framework's own profiler traces, and times.
"""
