"""rocprofv3 kernel traces.

It must not know other formats.
"""
