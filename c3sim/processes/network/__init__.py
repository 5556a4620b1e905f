"""NICs between nodes, and transfers that go through DMA engines and NICs in turn.

It must not know kernels.
"""
