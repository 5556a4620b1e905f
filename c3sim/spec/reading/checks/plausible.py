"""Numbers of a node that contradict each other, and those far from any known GPU's.

A contradiction in a file is an error. Where values are set by hand, one at a time, it is said with
the totals that it leads to: a what-if may need it on its way. What lies a decade beyond all known
GPUs (``hwmodels/known.json``) is said, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from c3sim.models.totals import links_out, totals_of
from c3sim.spec.hardware import Node
from c3sim.spec.reading.paths import NO_WORKLOAD, get_value, unit_of
from c3sim.spec.units import format_si, parse_quantity
from c3sim.spec.workload import Workload

DECADE = 10.0
#: Fields of a task that say how many bytes it moves.
MOVED = ("size", "bytes", "read", "written")


class Contradiction(NamedTuple):
    """The number at *path*, that at *other*, and *why* they exclude each other."""

    path: str
    why: str
    other: str


def contradictions(node: Node) -> Iterator[Contradiction]:
    """Numbers of *node* that exclude each other."""
    links, gpu = node.links, node.gpu
    raw = links.raw_bandwidth
    if raw is not None and links.bandwidth > raw:
        total = format_si(links_out(node) * links.bandwidth, "B/s") if node.gpus > 1 else ""
        of_gpu = f"; it is that of one link, {links_out(node)} of a GPU have {total}" * bool(total)
        why = f"{_above(links.bandwidth, raw)}{of_gpu}"
        yield Contradiction("links.bandwidth", why, "links.raw_bandwidth")
    side = gpu.memory_side_cache
    if side is not None and side.bandwidth < gpu.hbm.bandwidth:
        slow = format_si(side.bandwidth, "B/s"), format_si(gpu.hbm.bandwidth, "B/s")
        why = f"{slow[0]} is less than gpu.hbm.bandwidth, {slow[1]}, which it is in front of"
        yield Contradiction("gpu.memory_side_cache.bandwidth", why, "gpu.hbm.bandwidth")
    if gpu.clock.minimum > gpu.clock.maximum:
        low, high = (format_si(each, "Hz") for each in (gpu.clock.minimum, gpu.clock.maximum))
        why = f"{low} is above gpu.clock.maximum, {high}"
        yield Contradiction("gpu.clock.minimum", why, "gpu.clock.maximum")
    if gpu.clock.idle_power >= gpu.clock.power_limit:
        idle = format_si(gpu.clock.idle_power, "W")
        limit = format_si(gpu.clock.power_limit, "W")
        why = f"{idle} leaves nothing of gpu.clock.power_limit, {limit}"
        yield Contradiction("gpu.clock.idle_power", why, "gpu.clock.power_limit")


def _above(bandwidth: float, raw: float) -> str:
    given, most = format_si(bandwidth, "B/s"), format_si(raw, "B/s")
    return f"{given} is above links.raw_bandwidth, {most}, the signalling rate of a link"


_units: dict[str, str] = {}  # of numbers of a node, by path


def implausible(node: Node) -> Iterator[str]:
    """Sentences on numbers of *node* that lie a decade beyond those of all known GPUs."""
    totals = {each.name: (each.value, each.unit) for each in totals_of(node)}
    for name, known in _known().items():
        if name in totals:
            value, unit = totals[name]
        elif "." in name:
            if name not in _units:
                _units[name] = unit_of(node, NO_WORKLOAD, name)
            value, unit = get_value(node, NO_WORKLOAD, name), _units[name]
        else:  # a node of one GPU has no links
            continue
        low, high = (parse_quantity(known[end], unit) for end in ("low", "high"))
        if not low / DECADE <= value <= high * DECADE:
            ends = f"{known['low']} to {known['high']}"
            yield f"implausible: {name} {format_si(value, unit)}; known GPUs have {ends}"


def too_large(workload: Workload) -> Iterator[str]:
    """A sentence on the task of *workload* that moves most, where that is a decade beyond the
    memory of all known GPUs.
    """
    most = parse_quantity(_known()["gpu.hbm.capacity"]["high"], "B") * DECADE
    moved = {
        f"task.{name}.{field}": value
        for name, task in workload.tasks.items()
        for field in MOVED
        if isinstance(value := getattr(task, field, None), int | float)
    }
    path = max(moved, key=lambda path: moved[path], default="")
    if path and moved[path] > most:
        yield f"implausible: {path} {moved[path]:.3g} B; known GPUs have up to 288 GB of memory"


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Mapping[str, str]]:
    text = (files("c3sim.hwmodels") / "known.json").read_text(encoding="utf-8")
    ranges: Mapping[str, Mapping[str, str]] = json.loads(text)["ranges"]
    return ranges
