"""What a library was calibrated on, and which tasks lie outside of it.

A *domain* is a box: the least and greatest value of each condition over the calibration records
that the library's ``calibrated:`` entries name. Conditions are m, n, k of a GEMM by data type;
size, channels and ranks of a collective by operation; bytes of a copy by DMA engines. The boxes of
the packaged nodes are in ``hwmodels/domains.json`` (``python tools/domains.py``). A library none of
whose numbers was calibrated has no box: the sources of its numbers say what they hold for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files

from c3sim.specs.hardware import Node
from c3sim.specs.workload import Task, Workload
from c3sim.tasks.kind import Conditions
from c3sim.tasks.plan import kind_of

# condition -> (least, greatest); by the data type, operation or kind of task
Box = Mapping[str, tuple[float, float]]
Domains = Mapping[str, Mapping[str, Box]]  # by owner: the path of the library or engine


def conditions(node: Node, task: Task) -> Conditions | None:
    """Those of *task* on *node*; None for a task whose domain is not kept."""
    return kind_of(task).conditions(task, node)


def outside(node: Node, workload: Workload) -> dict[str, str]:
    """Task -> why it lies outside what its library was calibrated on, in words; others left out."""
    texts = {}
    for name, task in workload.tasks.items():
        asked = conditions(node, task)
        if asked is not None and (families := domains(node.name).get(asked.owner)):
            box = families.get(asked.family)
            beyond = [f"no {asked.family}"] if box is None else list(_beyond(asked, box))
            if beyond:
                texts[name] = ", ".join(beyond)
    return texts


def _beyond(asked: Conditions, box: Box) -> Iterator[str]:
    for name, value in asked.values.items():
        low, high = box[name]
        if not low <= value <= high:
            ends = f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
            yield f"{name} {ends}, not {value:.10g}"


@lru_cache(maxsize=1)
def _stored() -> Mapping[str, Domains]:
    text = (files("c3sim.hwmodels") / "domains.json").read_text(encoding="utf-8")
    stored: Mapping[str, Domains] = json.loads(text)["nodes"]
    return stored


def domains(node: str) -> Domains:
    """Owner -> family -> box of a packaged node; empty for any other."""
    return _stored().get(node, {})
