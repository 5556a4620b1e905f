"""The nodes that records are predicted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from c3sim.input.loading import LoadedNode, load_hardware
from c3sim.input.paths import set_value
from c3sim.specs.record import Record

from .loops import has_figures
from .no_workload import NO_WORKLOAD


def nodes_for(
    records: Iterable[Record],
    node: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> dict[str, LoadedNode]:
    """The node of each name in *records* that have figures: the packaged one, or *node* for all.

    With *settings* (path -> value) made.
    """
    found = {}
    for name in dict.fromkeys(record.node for record in records if has_figures(record)):
        loaded = load_hardware(name if node is None else node)
        one, provenance = loaded.node, dict(loaded.provenance)
        for path, value in (settings or {}).items():
            one, _ = set_value(one, NO_WORKLOAD, path, value)
            if path in provenance:
                provenance[path] = replace(
                    provenance[path], text=str(value), source="set for this comparison", fitted=""
                )
        found[name] = LoadedNode(node=one, provenance=provenance)
    return found
