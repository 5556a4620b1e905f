"""A study of kind ``dma_variants``: collectives on DMA engines by variant, against each other and
against compute units, and the phases of one copy.

A case is a node, and a workload with one collective and the host that submits it. Names of
variants are those of :mod:`c3sim.strategies.dma_variants`; ``_pl``: prelaunched, behind a poll.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from c3sim.input.loading import load_hardware
from c3sim.simulation.runs import run_once
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.specs.workload import Commands, HostThreads, Workload
from c3sim.studies.cases import collective_of, study_cases
from c3sim.studies.dma_variants.claims import Claim, claims
from c3sim.studies.dma_variants.energy import Energy, intervals_of, variant_energy
from c3sim.studies.dma_variants.row import CaseRuns, Row, Time, runs_of
from c3sim.studies.kind import About, Options, StudyResult, published_for
from c3sim.studies.plain import ENTRIES, IF_KNOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class Phases:
    """*shares* of one copy to a peer by phase, as fractions of its time:

    control   the packets are written
    schedule  from the doorbell until the first packet is fetched
    copy      the copy itself
    sync      the signal
    """

    size_bytes: int
    shares: Mapping[str, float] = field(metadata=ENTRIES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Errors:
    """Absolute relative errors of speedups against *of* published ones."""

    of: int
    median: float
    p90: float
    max: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DmaVariantsResult(StudyResult):
    """*rows*, one per case; *phases*, one per size. Published figures, and what is compared with
    them, are of the study's own node only.
    """

    rows: Sequence[Row]
    phases: Sequence[Phases]
    claims: Sequence[Claim]
    errors: Errors | None = field(default=None, metadata=IF_KNOWN)
    energy: Energy
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> DmaVariantsResult:
    """All variants of each case of *study*, in time and energy. Raises InputError."""
    cases = study_cases(study, options.node)
    node = cases[0].node
    published = published_for(study, node)
    runs = []
    for case in cases:
        runs.append(runs_of(case))
        options.report("variants", len(runs), len(cases))
    rows = [_row(each, published.get("speedup", {})) for each in runs]
    known = load_hardware(study.node).provenance if options.node is None else options.provenance
    return DmaVariantsResult(
        about=About.of(study, node),
        rows=rows,
        phases=[_phases(node, size) for size in sorted({row.size_bytes for row in rows})],
        claims=claims(rows, published.get("claims", {})),
        errors=_errors(rows, published.get("calibration_bytes", ())),
        energy=variant_energy(runs, intervals_of(known), published.get("power")),
        published=published,
    )


def _errors(rows: Sequence[Row], calibration_bytes: Sequence[int]) -> Errors | None:
    """Errors of speedups, but at the sizes from which parameters were taken."""
    errors = [
        abs(row.speedups[name] / theirs - 1)
        for row in rows
        if row.size_bytes not in calibration_bytes
        for name, theirs in row.published.items()
    ]
    if len(errors) < 2:
        return None
    p90 = quantiles(errors, n=10, method="inclusive")[-1]
    return Errors(of=len(errors), median=median(errors), p90=p90, max=max(errors))


def _row(runs: CaseRuns, speedups: Mapping[str, Any]) -> Row:
    """*speedups*: the published ones, by operation and size, in ``columns`` by operation."""
    name, task = collective_of(runs.case)
    times = {variant: 1e6 * run.task(name).end for variant, run in runs.variants.items()}
    columns = speedups.get("columns", {}).get(task.op, ())
    theirs = speedups.get(task.op, {}).get(str(int(task.size)), ())
    return Row(
        collective=task.op,
        size_bytes=int(task.size),
        variants={variant: Time(time_us=time) for variant, time in times.items()},
        rccl=Time(time_us=1e6 * runs.rccl.task(name).end),
        best=min(times, key=lambda variant: times[variant]),
        speedups={variant: times["pcpy"] / time for variant, time in times.items()},
        published=dict(zip(columns, theirs, strict=True)) if theirs else {},
    )


def _phases(node: Node, size: int) -> Phases:
    """Phases of one copy of *size* bytes.

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
    host = HostThreads(submission="direct")
    workload = Workload(schema_version=1, name="copy", tasks={"copy": task}, host=host)
    run = run_once(node, workload).task("copy")
    stamps = run.detail["timestamps_s"]
    control = len(program) * node.host.packet_time
    times = {
        "control": control,
        "schedule": stamps["begin"] - control - node.host.doorbell_time,
        "copy": stamps["end"] - stamps["begin"],
        "sync": run.end - stamps["end"] - node.host.signal_time,
    }
    total = sum(times.values())
    return Phases(size_bytes=size, shares={name: time / total for name, time in times.items()})
