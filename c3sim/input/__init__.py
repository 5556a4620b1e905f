"""From text to specs: YAML with lines, units, shapes of fields, paths, expressions.

Every mistake of a file is found in one pass. The package knows specs and errors. It must not know
the engine, machines, processes or results: reading a file runs nothing. Of the formulas, only
:mod:`c3sim.input.checks` knows those that limit what a node can be asked for.
"""
