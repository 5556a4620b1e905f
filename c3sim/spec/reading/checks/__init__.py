"""Checks of files beyond the types of their fields.

    workload    names, order and dependencies inside a workload
    on_node     whether a node can run a workload

The package knows specs. ``on_node`` imports :mod:`c3sim.models` too, for what a
kernel needs room for and which algorithms there are. It must not know the simulation.
"""
