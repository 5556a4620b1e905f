"""Profiler traces of loops on several ranks, one trace a rank, to one record a loop.

It must not know the framework's driver: a trace says in ``loop`` what it ran.
"""
