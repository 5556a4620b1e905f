"""Collectives on DMA engines by variant, against each other and against compute units; and the
phases of one copy.

A case is a node, and a workload with one collective on DMA engines and the host that submits it. Names of variants as in
``processes/dma/collectives.py``; ``_pl``: prelaunched, behind a poll.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median, quantiles
from typing import Any

from c3sim.simulation.runs import isolated, run_once
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Commands, HostThreads, Workload
from c3sim.strategies.dma_variants import variants
from c3sim.strategies.rewrites import on_compute_units, with_tasks
from c3sim.studies.cases import Case, gather_of
from c3sim.studies.rows import Progress
from c3sim.studies.variant_claims import claims

VARIANTS = ("pcpy", "bcst", "swap", "b2b")


def variant_study(
    cases: Sequence[Case], published: Mapping[str, Any], progress: Progress | None = None
) -> dict[str, Any]:
    """``rows`` (a case each), ``phases`` (a size each), ``claims``, and ``errors`` against
    published speedups, if there are any.
    """
    rows: list[dict[str, Any]] = []
    for case in cases:
        rows.append(_row(case, published.get("speedup", {})))
        if progress is not None:
            progress("variants", len(rows), len(cases))
    sizes = sorted({row["size_bytes"] for row in rows})
    found: dict[str, Any] = {
        "rows": rows,
        "phases": [_phases(cases[0].node, size) for size in sizes],
    }
    found["claims"] = claims(rows, published.get("claims", {}))
    used = set(published.get("calibration_bytes", ()))
    errors = [
        abs(row["speedups"][name] / theirs - 1)
        for row in rows
        if row["size_bytes"] not in used
        for name, theirs in row["published"].items()
    ]
    if len(errors) > 1:
        p90 = quantiles(errors, n=10, method="inclusive")[-1]
        found["errors"] = {
            "of": len(errors),
            "median": median(errors),
            "p90": p90,
            "max": max(errors),
        }
    return found


def _row(case: Case, speedups: Mapping[str, Any]) -> dict[str, Any]:
    name, task = gather_of(case)
    base = with_tasks(case.workload, {name: {"backend": "dma"}})
    possible = {variant.name for variant in variants(case.node, task.op)}
    times = {
        variant + ending: _time(case.node, base, name, variant, prelaunched=bool(ending))
        for variant in VARIANTS
        for ending in ("", "_pl")
        if variant + ending in possible
    }
    on_units = on_compute_units(base, case.node)
    columns, table = speedups.get("columns", {}).get(task.op, ()), speedups.get(task.op, {})
    theirs = table.get(str(int(task.size)), ())
    return {
        "collective": task.op,
        "size_bytes": int(task.size),
        "variants": {variant: {"time_us": time} for variant, time in times.items()},
        "rccl": {"time_us": 1e6 * isolated(case.node, on_units, name).end},
        "best": min(times, key=lambda variant: times[variant]),
        "speedups": {variant: times["pcpy"] / time for variant, time in times.items()},
        "published": dict(zip(columns, theirs, strict=True)) if theirs else {},
    }


def _time(node: Node, base: Workload, name: str, variant: str, *, prelaunched: bool) -> float:
    host = base.host.model_copy(update={"prelaunched": prelaunched})
    changed = with_tasks(base, {name: {"variant": variant}}).model_copy(update={"host": host})
    return 1e6 * isolated(node, changed, name).end


def _phases(node: Node, size: int) -> dict[str, Any]:
    """Shares of one copy to a peer: control (packets written), schedule (doorbell to fetched),
    copy, and sync (signal).

    The program that measures them: a timestamp before and after the copy, then the atomic that the
    host waits for.
    """
    program = (
        Command(op="timestamp", on="begin"),
        Command(op="copy", bytes=size, peer=1),
        Command(op="timestamp", on="end"),
        Command(op="atomic", on="done"),
    )
    task = Commands(kind="commands", gpus="first", program=program)
    workload = Workload(
        schema_version=1, name="copy", tasks={"copy": task}, host=HostThreads(submission="direct")
    )
    run = run_once(node, workload).task("copy")
    stamps = run.detail["timestamps_s"]
    written = len(program) * node.host.packet_time
    parts = {
        "control": written,
        "schedule": stamps["begin"] - written - node.host.doorbell_time,
        "copy": stamps["end"] - stamps["begin"],
        "sync": run.end - stamps["end"] - node.host.signal_time,
    }
    return {
        "size_bytes": size,
        **{name: part / sum(parts.values()) for name, part in parts.items()},
    }
