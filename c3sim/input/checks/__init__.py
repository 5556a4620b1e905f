"""What a file must hold beyond the types of its fields.

    workload    names, order and dependencies inside a workload
    programs    its DMA programs
    on_node     whether a node can run a workload
    dma         whether the engines of a node can
    cluster     whether several nodes and their network can
    records     whether a record's figures belong to its tasks

The package knows specs. ``on_node`` and ``cluster`` import :mod:`c3sim.models` too, for what a
kernel needs room for and which algorithms there are. It must not know the simulation.
"""
