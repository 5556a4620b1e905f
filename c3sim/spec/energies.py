"""The energies of a node file (``gpu.energy.NAME``) by the component that spends them."""

from __future__ import annotations

from collections.abc import Mapping

from c3sim.spec.hardware import Node

Account = Mapping[str, float]  # name of an energy in the node file -> J
IDLE = "idle_power"

#: The component (a key of the node file) of each energy of ``gpu.energy``.
COMPONENT_OF = {
    "flop": "compute_units",
    "compute_unit": "compute_units",
    "vector_byte": "compute_units",
    "l2_byte": "l2",
    "cache_byte": "memory_side_cache",
    "hbm_byte": "hbm",
    "link_byte": "links",
    "dma_byte": "dma_engines",
    "dma_engine": "dma_engines",
    "dma_command": "dma_engines",
    "host_link_byte": "host_link",
    IDLE: "idle",
}
COMPONENTS = tuple(dict.fromkeys(COMPONENT_OF.values()))
_WITHOUT_CACHE = tuple(name for name in COMPONENTS if name != "memory_side_cache")
PLAIN = {
    "l2": "L2",
    "memory_side_cache": "memory-side cache",
    "hbm": "HBM",
    "dma_engines": "DMA engines",
}


def by_component(node: Node, account: Account, *, idle: bool = True) -> dict[str, float]:
    """*account* summed by component, all of *node* named; *idle*: that too (no task has any)."""
    sums = dict.fromkeys(_components(node), 0.0)
    if not idle:
        del sums[COMPONENT_OF[IDLE]]
    for name, joules in account.items():
        sums[COMPONENT_OF[name]] += joules
    return sums


def components_of(node: Node) -> dict[str, str]:
    """Component of *node* -> its name for display, from the node file where it has one."""
    names = node.gpu.names
    return {
        name: names.get(name, PLAIN.get(name, name.replace("_", " "))) for name in _components(node)
    }


def _components(node: Node) -> tuple[str, ...]:
    return COMPONENTS if node.gpu.memory_side_cache is not None else _WITHOUT_CACHE
