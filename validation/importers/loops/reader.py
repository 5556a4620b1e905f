"""One rank's trace of a loop: when each task of each turn ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..collector import Collector
from ..kineto.reader import is_amd, origin_of
from ..numbers import as_float
from ..partial_json import read_members
from ..result import Given, ImportResult, LoopTrace
from ..traces.kernel_names import classify

NEEDED = ("name", "mode", "tasks", "order", "turns", "rank", "ranks")


def read(text: str, given: Given) -> ImportResult:
    """No record: those need the traces of all ranks (loops/records.py)."""
    collector = Collector("loop", given)
    document, events, fault = read_members(text, "traceEvents")
    if fault is not None:
        collector.broken(fault.message, fault.line)
        return collector.result()
    about = (document or {}).get("loop")
    if not isinstance(about, Mapping) or (lacks := [key for key in NEEDED if key not in about]):
        collector.broken(f"loop lacks {', '.join(lacks or NEEDED)}")
        return collector.result()
    turns = _turns(events, about)
    for role, spans in turns.items():
        if len(spans) != about["turns"]:
            collector.broken(f"{role}: {len(spans)} kernels in {about['turns']} turns")
            return collector.result()
    backend = "rccl" if is_amd(document or {}, events) else "nccl"
    origin = origin_of(document or {}, backend)
    trace = LoopTrace(
        about=about,
        turns=turns,
        software=origin.software,
        facts=f"{about['ranks']} GPUs",
        backend=backend,
    )
    return ImportResult(format=collector.format, loops=(trace,))


def _turns(events: Sequence[Any], about: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """By role of the loop's tasks, in order of time."""
    found: dict[str, list[tuple[float, float]]] = {role: [] for role in about["tasks"]}
    for event in events:
        role = _role(event, found)
        if role:
            start = as_float(event["ts"])
            found[role].append((start, start + as_float(event["dur"])))
    return {role: sorted(spans) for role, spans in found.items()}


def _role(event: Any, roles: Mapping[str, object]) -> str:
    """The task that a kernel belongs to; empty: none."""
    if not isinstance(event, dict):
        return ""
    category, name = str(event.get("cat", "")).lower(), str(event.get("name", ""))
    if category == "gpu_memcpy":
        kinds: tuple[str, ...] = ("copy", "peer")
    elif category == "kernel":
        kind = classify(name).kind
        kinds = ("stream",) if kind == "other" and "elementwise" in name else (kind,)
    else:
        return ""
    return next((kind for kind in kinds if kind in roles), "")
