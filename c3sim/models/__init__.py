"""Formulas, one module per physical effect: pure functions of specs and numbers, with symbols and
sources.

It must not know the clock, flows, machines or processes.
"""
