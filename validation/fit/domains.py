"""Derives what each library of a node was calibrated on: see ``c3sim.evaluation.trust``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from c3sim.evaluation.trust import conditions
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.record import Record
from c3sim.tasks.kind import Conditions

Ranges = dict[str, dict[str, dict[str, list[float]]]]  # owner -> family -> condition -> ends


def derive(records: Sequence[Record]) -> dict[str, Ranges]:
    """Packaged node -> its domains."""
    nodes = {name: load_hardware(name) for name in names("node")}
    free = [record for record in records if record.role == "calibration"]
    found = {name: _of_node(loaded, nodes, free) for name, loaded in nodes.items()}
    return {name: ranges for name, ranges in found.items() if ranges}


def _of_node(
    loaded: LoadedNode, nodes: Mapping[str, LoadedNode], records: Sequence[Record]
) -> Ranges:
    ranges: Ranges = {}
    fits = _fits(loaded)
    for record in records:
        ran_on = nodes[record.node]
        for asked in _conditions(ran_on, record):
            if any(
                record.suite in suites and _file(ran_on, path) == _file(loaded, path)
                for path, suites in fits.items()
                if path.startswith(f"{asked.owner}.")
            ):
                family = ranges.setdefault(asked.owner, {}).setdefault(asked.family, {})
                for name, value in asked.values.items():
                    low, high = family.get(name, [value, value])
                    family[name] = [min(low, value), max(high, value)]
    return ranges


def _fits(loaded: LoadedNode) -> dict[str, tuple[str, ...]]:
    """Path of each calibrated number -> the suites it was fitted to."""
    return {path: leaf.suites for path, leaf in loaded.provenance.items() if leaf.calibrated}


def _conditions(ran_on: LoadedNode, record: Record) -> Iterator[Conditions]:
    for task in record.workload.tasks.values():
        asked = conditions(ran_on.node, task)
        if asked is not None:
            yield asked


def _file(loaded: LoadedNode, path: str) -> str:
    """The file that *loaded* takes the number from; records of other files do not count."""
    return loaded.provenance[path].file if path in loaded.provenance else ""


def text(domains: Mapping[str, Ranges]) -> str:
    """The file: a line per family."""
    nodes = []
    for node, owners in sorted(domains.items()):
        parts = [
            f"  {json.dumps(owner)}: {{\n"
            + ",\n".join(
                f"   {json.dumps(family)}: {json.dumps(families[family])}"
                for family in sorted(families)
            )
            + "\n  }"
            for owner, families in sorted(owners.items())
        ]
        nodes.append(f" {json.dumps(node)}: {{\n" + ",\n".join(parts) + "\n }")
    return '{"schema": 1, "nodes": {\n' + ",\n".join(nodes) + "\n}}\n"
