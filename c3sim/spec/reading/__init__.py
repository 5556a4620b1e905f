"""From text to models: YAML with lines, one pass over what it says, paths, expressions.

Every mistake of a file is found in one pass. The package knows specs and errors. It must not know
the engine, machines, processes or results: reading a file runs nothing. Of the formulas, only
:mod:`c3sim.spec.reading.checks` knows those that limit what a node can be asked for.
"""
