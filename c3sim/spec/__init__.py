"""Contents of files: frozen pydantic models of hardware, workloads, studies and records, their
units and small grammars.

The part :mod:`c3sim.spec.reading` reads files; nothing else here knows how. The package must not
know any part of the simulator.
"""
