"""nccl-tests and rccl-tests: text, CSV and JSON output.

It must not know other formats.
"""
