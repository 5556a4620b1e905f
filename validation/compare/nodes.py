"""The nodes that records are predicted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.reading.settings import node_with_settings, settings_of
from c3sim.spec.record import Record
from c3sim.spec.workload import Workload

from .loops import has_figures

# Paths into a node are resolved against this workload where there is no other.
NO_WORKLOAD = Workload.model_validate(
    {"schema": 1, "name": "none", "tasks": {"none": {"kind": "host", "time": 0.0}}}
)


def nodes_for(
    records: Iterable[Record],
    node: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> dict[str, LoadedNode]:
    """The node of each name in *records* that have figures: the packaged one, or *node* for all.

    *settings* (path -> value) change each of them.
    """
    nodes = {}
    for name in dict.fromkeys(record.node for record in records if has_figures(record)):
        loaded = load_hardware(name if node is None else node)
        changes = settings_of(settings)
        nodes[name] = node_with_settings(loaded, changes, NO_WORKLOAD, "set for this comparison")
    return nodes
