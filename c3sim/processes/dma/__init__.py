"""DMA engines: host submission, queues, commands, requests to other engines, copies and collectives
made of them.

It must not know kernels or compute units.
"""
