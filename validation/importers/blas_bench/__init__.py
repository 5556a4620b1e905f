"""hipblaslt-bench and rocblas-bench logs.

It must not know other formats.
"""
