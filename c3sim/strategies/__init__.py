"""Strategies: pure rewrites of a workload, candidates, and the choice between them.

It knows simulation (to compare candidates). It must not know results, studies or output.
"""
