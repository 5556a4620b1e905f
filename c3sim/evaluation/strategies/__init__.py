"""Strategies: pure rewrites of a workload into candidates, and the best of them.

It knows simulation, to compare candidates. It must not know results, studies or output.
"""
