"""PyTorch profiler (Kineto) traces.

It must not know other formats.
"""
