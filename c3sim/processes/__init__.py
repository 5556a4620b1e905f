"""Everything that runs on the clock: streams and hosts, kernels, channels, DMA engines and NICs;
and the record that tells them of each task.

It knows models, machine and engine. It must not know kinds of task, strategies, results or files.
"""
