"""DMA engines: host submission, queues, commands, requests to other engines, copies, collectives.

It must not know kernels or compute units.
"""
