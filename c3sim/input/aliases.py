"""Other words for the paths of :mod:`c3sim.input.paths`, as people write them; each leads onto the
one grammar.

    sdma.count, hw.sdma.engines     gpu.dma_engines.count
    mall.capacity                   gpu.memory_side_cache.capacity
    hw.links.bandwidth              links.bandwidth            (a root of the node)
    hw.l2.capacity                  gpu.l2.capacity            (whatever else: a part of the GPU)

The words are those of :mod:`c3sim.input.synonyms`; ``hw.`` may stand before each. Results name the
canonical path.
"""

from __future__ import annotations

from c3sim.input.synonyms import WORDS, word
from c3sim.specs.hardware import Node

_FIELDS = {"gpu.dma_engines.engines": "gpu.dma_engines.count"}


def canonical(path: str) -> str:
    """*path* in the words of the grammar; one that is no alias comes back as it is."""
    bare = path.removeprefix("hw.")
    part, dot, inner = bare.partition(".")
    if part in Node.model_fields:
        path = bare
    elif (known := word(part)) is not None and known.path:
        path = f"{known.path}{dot}{inner}"
    elif bare != path:
        path = f"gpu.{bare}"
    return _FIELDS.get(path, path)


def spellings(path: str) -> list[str]:
    """The other ways to write the canonical *path*: with a user's word, with ``hw.``."""
    ends = [path, *(alias for alias, wanted in _FIELDS.items() if wanted == path)]
    found = []
    for end in ends:
        found += [
            f"{name}{end.removeprefix(entry.path)}"
            for name, entry in WORDS.items()
            if entry.path and (end == entry.path or end.startswith(f"{entry.path}."))
        ]
        found.append(end.removeprefix("gpu."))
    return [*found, *(f"hw.{each}" for each in found)]
