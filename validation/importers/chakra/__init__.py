"""Chakra execution traces (MLCommons), in the words of a profiler trace.

It must not know workloads: it gives events and dependencies, which ``workloads`` reads.

    schema    the messages of a trace, without a compiled schema
    reader    a file's nodes, protobuf or JSON
    side      what a trace lacks, from a file of the user
    events    nodes as events of a profiler trace
"""
