"""What files may say: frozen pydantic models of hardware, workloads, studies and records, and their
small grammars.

It must not know how files are read, nor any part of the simulator.
"""
