"""Kinds of task, a file each: how it resolves on a node, what runs for it, what it costs to run.

It knows the parts that run on the clock. It must not know strategies, results or files, and nobody
else asks what kind a task is.
"""
