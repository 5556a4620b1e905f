"""TransferBench: text and CSV output of its presets and tests.

It must not know other formats.
"""
