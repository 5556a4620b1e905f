"""Other words for the paths of :mod:`c3sim.input.paths`, as people write them; each leads onto the
one grammar.

    hw.sdma.engines             gpu.dma_engines.count
    hw.infinity_cache.capacity  gpu.memory_side_cache.capacity
    hw.links.bandwidth          links.bandwidth            (a root of the node)
    hw.hbm.bandwidth            gpu.hbm.bandwidth          (whatever else: a part of the GPU)

A table of words, no rule of the simulator: results name the canonical path.
"""

from __future__ import annotations

from c3sim.specs.hardware import Node

#: The word after ``hw.`` -> where it leads.
PARTS = {
    "sdma": "gpu.dma_engines",
    "dma": "gpu.dma_engines",
    "infinity_cache": "gpu.memory_side_cache",
    "mall": "gpu.memory_side_cache",
    "xcd": "gpu.dies",
    "cu": "gpu.compute_units",
    "xgmi": "links",
}
_FIELDS = {"gpu.dma_engines.engines": "gpu.dma_engines.count"}


def canonical(path: str) -> str:
    """*path* in the words of the grammar; one that is no alias comes back as it is."""
    first, _, rest = path.partition(".")
    if first == "hw" and rest:
        part, dot, inner = rest.partition(".")
        default = part if part in Node.model_fields else f"gpu.{part}"
        path = f"{PARTS.get(part, default)}{dot}{inner}"
    return _FIELDS.get(path, path)


def spellings(path: str) -> list[str]:
    """The other ways to write the canonical *path*, all of which begin with ``hw.``."""
    ends = [path, *(alias for alias, wanted in _FIELDS.items() if wanted == path)]
    found = []
    for end in ends:
        places = {
            f"hw.{word}": f"{place}."
            for word, place in PARTS.items()
            if end.startswith(f"{place}.")
        }
        found += [f"{words}.{end.removeprefix(place)}" for words, place in places.items()]
        found.append(f"hw.{end.removeprefix('gpu.')}")
    return found
