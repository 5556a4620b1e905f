"""What a file must hold beyond the types of its fields.

    workload    names, order and dependencies inside a workload
    on_node     whether a node can run a workload

The package knows specs. ``on_node`` imports :mod:`c3sim.models` too, for what a
kernel needs room for and which algorithms there are. It must not know the simulation.
"""
