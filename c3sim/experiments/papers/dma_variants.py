"""Kind ``dma_variants``: which command program on DMA engines is the quickest for which size, and
what does it spend? Against copies on parallel engines (pcpy) and against compute units (rccl).

Names of variants are those of :mod:`c3sim.strategies.dma_variants`; ``_pl``: prelaunched, behind a
poll. Small is below 32 MiB and large from there on, as in arXiv 2511.06605; claims are ratios of
times, means geometric. *moving*: the saving of power over pcpy if the variant took as long as pcpy:
what it does per byte, not from being slower. Phases of one copy to a peer:

    control   the packets are written
    schedule  from the doorbell until the first packet is fetched
    copy      the copy itself
    sync      the signal
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from statistics import mean, median, quantiles
from typing import Any, NamedTuple

from c3sim.experiments.cases import Case, collective_of, workload_cases
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.savings import Ends, intervals_of, mean_savings, savings, total
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.machine.energy import IDLE, by_component
from c3sim.output.kit.grid import Table, remarks
from c3sim.output.kit.panels import Panel, panel
from c3sim.simulation.run import Run
from c3sim.simulation.runs import alone, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.study import Study
from c3sim.spec.task import Command
from c3sim.spec.workload import Commands, HostThreads, Workload
from c3sim.strategies.dma_variants import variants, with_variants
from c3sim.strategies.rewrites import on_compute_units, with_tasks
from c3sim.tasks.plan import payload_bytes

SMALL = 32 * 2**20  # bytes


def _geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


class Ratio(NamedTuple):
    """*over* / *under* of the rows of one operation (empty: all), small ones or *large*."""

    what: str
    over: str
    under: str
    of: str = ""
    large: bool = False
    reduce: Callable[[Sequence[float]], float] = _geometric_mean


RATIOS = {
    "best_over_pcpy": Ratio("best variant, speedup over pcpy, small, mean", "pcpy", "best"),
    "best_over_pcpy_most": Ratio(
        "best variant, speedup over pcpy, small, most", "pcpy", "best", reduce=max
    ),
    **{
        f"{op}_{when}": Ratio(f"{words}, {over} / compute units, small", over, "rccl", op)
        for when, over in (("before", "pcpy"), ("after", "best"))
        for op, words in (("all_gather", "all-gather"), ("all_to_all", "all-to-all"))
    },
    "large": Ratio("compute units / best, large", "rccl", "best", large=True),
}


def cases(asked: Asked) -> list[Case]:
    return workload_cases(asked.loaded, asked.options.node)


def row(case: Case, _: Study) -> Row:
    """Runs of each program of the engines, on as many of them as the workload says, and of compute
    units; the phases of one copy.
    """
    name, task = collective_of(case)
    base = alone(with_tasks(case.workload, {name: {"backend": "dma"}}), name)

    def of(run: Run) -> Row:
        energy = by_component(case.node, run.account)
        time = 1e6 * run.task(name).end
        return Row(time_us=time, account=dict(run.account), end=run.end, energy=energy)

    runs = {}
    for variant in variants(case.node, task.op):
        if variant.engines is None:
            chosen = with_variants(base, {name: replace(variant, engines=task.engines)})
            runs[variant.name] = of(run_once(case.node, chosen))
    rccl = of(run_once(case.node, on_compute_units(base, case.node)))
    moved = payload_bytes(case.node, task)
    what = Row(collective=task.op, size_bytes=int(task.size))
    return Row(
        what=what, runs=runs, rccl=rccl, moved=moved, phases=phases(case.node, int(task.size))
    )


def phases(node: Node, size: int) -> Row:
    """Shares of one copy of *size* bytes by phase. The program that measures them: a timestamp
    before and after the copy, then the atomic that the host waits for.
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
    whole = sum(times.values())
    return Row({"size_bytes": size}, **{name: time / whole for name, time in times.items()})


def reduce(asked: Asked, cases: Sequence[Case], found: list[Row]) -> Mapping[str, Any]:
    node = cases[0].node
    published = asked.published(node)
    rows = [_timed(each, published.get("speedup", {})) for each in found]
    by_size = {each.phases.size_bytes: each.phases for each in found}
    errors = _errors(rows, published.get("calibration_bytes", ()))
    return {
        "rows": rows,
        "phases": [by_size[size] for size in sorted(by_size)],
        "claims": list(beside(rows, published.get("claims", {}))),
        **({"errors": errors} if errors is not None else {}),
        "energy": _energy(node, found, intervals_of(asked.provenance()), published.get("power")),
        "published": published,
    }


def _timed(found: Row, speedups: Mapping[str, Any]) -> Row:
    """Times and speedups over pcpy beside published ones, by operation and size."""
    times = {variant: run.time_us for variant, run in found.runs.items()}
    op, columns = found.what.collective, speedups.get("columns", {})
    theirs = speedups.get(op, {}).get(str(found.what.size_bytes), ())
    return Row(
        found.what,
        variants={variant: Row(time_us=time) for variant, time in times.items()},
        rccl=Row(time_us=found.rccl.time_us),
        best=min(times, key=lambda variant: times[variant]),
        speedups={variant: times["pcpy"] / time for variant, time in times.items()},
        published=dict(zip(columns.get(op, ()), theirs, strict=True)) if theirs else {},
    )


def beside(rows: Sequence[Row], published: Mapping[str, float]) -> Iterator[Row]:
    """A claim for each of *published* (key -> ratio) that *rows* can answer."""
    for key, theirs in published.items():
        ratio = RATIOS[key]
        known = [
            {"pcpy": row.variants["pcpy"], "best": row.variants[row.best], "rccl": row.rccl}
            for row in rows
            if ratio.of in ("", row.collective) and (row.size_bytes >= SMALL) is ratio.large
        ]
        values = [row[ratio.over].time_us / row[ratio.under].time_us for row in known]
        if values:
            ours = ratio.reduce(values)
            yield Row(claim=key, what=ratio.what, published=theirs, simulated=ours)


def _errors(rows: Sequence[Row], calibration_bytes: Sequence[int]) -> Row | None:
    """Absolute relative errors of speedups, but at the sizes from which parameters were taken."""
    errors = [
        abs(row.speedups[name] / theirs - 1)
        for row in rows
        if row.size_bytes not in calibration_bytes
        for name, theirs in row.published.items()
    ]
    if len(errors) < 2:
        return None
    p90 = quantiles(errors, n=10, method="inclusive")[-1]
    return Row(of=len(errors), median=median(errors), p90=p90, max=max(errors))


def _energy(node: Node, found: Sequence[Row], ends: Ends, published: Any) -> Row:
    rows = [_spent(node, each, ends) for each in found]
    measured = node.gpu.energy.measured
    known: dict[str, Any] = {}
    if published:
        known = {"large": _large(rows, published["large_bytes"]), "published": published}
    return Row(validated=bool(measured), measured=measured, rows=rows, **known)


def _spent(node: Node, found: Row, ends: Ends) -> Row:
    def consumption(run: Row) -> Row:
        """Energies [J] of all GPUs, by component; the power is that of one GPU."""
        joules = total(run.account)
        return Row(
            energy_j=joules,
            power_w_per_gpu=joules / run.end / node.ranks,
            energy_per_byte=joules / found.moved,
            energy=run.energy,
        )

    def moving(run: Row) -> float:
        """Energy [J] without idle power."""
        return float(total(run.account) - run.account[IDLE])

    pcpy = found.runs["pcpy"]
    spent = {
        variant: Row(
            consumption(run),
            over_rccl=savings(run, found.rccl, ends),
            over_pcpy=savings(run, pcpy, ends),
            moving=(moving(pcpy) - moving(run)) / total(pcpy.account),
        )
        for variant, run in found.runs.items()
    }
    of = {"payload_bytes": found.moved, "rccl": consumption(found.rccl), "variants": spent}
    return Row(found.what, **of)


def _large(rows: Sequence[Row], smallest: float) -> list[Row]:
    """Mean savings from *smallest* bytes on, of each collective and variant."""
    large = [row for row in rows if row.size_bytes >= smallest]
    return [
        Row(
            collective=op,
            variant=name,
            over_rccl=mean_savings([row.variants[name].over_rccl for row in of]),
            over_pcpy=mean_savings([row.variants[name].over_pcpy for row in of]),
            moving=mean(row.variants[name].moving for row in of),
        )
        for op, of in grouped(large, lambda row: row.collective).items()
        for name in of[0].variants
    ]


def tables(found: StudyResult) -> list[Table | str]:
    shares = ["control %0", "schedule %0", "copy %0", "sync %0"]
    columns = ["size_bytes size as size", *shares, "published > as published (%)"]
    known = found.published.get("phases") or {}
    lines = [{**row, "published": known.get(str(row.size_bytes))} for row in found.phases]
    parts: list[Table | str] = [Table("phases of one copy to a peer", lines, columns)]
    columns = ["size_bytes size as size", "best", "variants.pcpy.time_us as pcpy", "speedups.* x"]
    columns += ["rccl.time_us as rccl", "published.* x as publ. *"]
    note = "times in us; rccl: on compute units"
    for op, rows in grouped(found.rows, lambda row: row.collective).items():
        parts.append(Table(f"{op} on {found.node}: speedup over pcpy", rows, columns, note))
    columns = ["size_bytes size as size", "rccl.power_w_per_gpu W as rccl"]
    columns += ["rccl.energy_per_byte nJ/B as rccl", "variants.*.power_w_per_gpu W"]
    columns += [
        "variants.*.energy_per_byte nJ/B",
        "variants.pcpy.over_rccl.power.saving % as saved",
    ]
    measured = found.energy.measured
    note = f"mean power of a GPU, idle power included; {_standing(measured)}"
    for op, rows in grouped(found.energy.rows, lambda row: row.collective).items():
        parts.append(Table(f"{op} on {found.node}: power, energy per byte", rows, columns, note))
    if "errors" in found:
        worst = {name: f"{share:.1%}" for name, share in found.errors.items() if name != "of"}
        parts.append(
            f"speedups against {found.errors.of} published ones, calibration sizes left out: off by"
            f" {worst['median']} in the median, {worst['p90']} at the 90th percentile,"
            f" {worst['max']} at most"
        )
    return [*parts, remarks(found.published)]


def _standing(measured: str) -> str:
    return f"power was measured: {measured}" if measured else "no power was measured on this node"


def claims(found: StudyResult) -> Iterator[Claim]:
    for each in found.claims:
        yield claim(each.what, each.simulated, each.published)
    power = found.energy.get("published") or {}
    for each in found.energy.get("large", ()):
        over_rccl = each.variant == "pcpy"
        if over_rccl or not each.variant.endswith("_pl"):
            saving = (each.over_rccl if over_rccl else each.over_pcpy)["power"]
            theirs = power["saving_over_rccl" if over_rccl else "saving_of_variants"]
            what = f"{each.collective}, {each.variant}: power saved over "
            ends = None if saving["low"] is None else (saving["low"], saving["high"])
            where = "compute units" if over_rccl else "pcpy"
            yield claim(what + where, saving["saving"], theirs, unit="%", band=ends)


def panels(found: StudyResult) -> list[Panel]:
    """Speedups over pcpy, phases of a copy, power saved over compute units."""
    drawn, place = [], "size_bytes size"
    for op, rows in grouped(found.rows, lambda row: row.collective).items():
        known = {name: [row.published.get(name) for row in rows] for name in rows[0].variants}
        rccl = [row.variants["pcpy"].time_us / row.rccl.time_us for row in rows]
        lines = [
            {**row, "speedups": {**row.speedups, "rccl": each}}
            for row, each in zip(rows, rccl, strict=True)
        ]
        how: dict[str, Any] = {"known": known, "log": True}
        drawn.append(panel(f"{op}: speedup over pcpy", lines, place, "speedups.* x", **how))
    shares = [
        {"size_bytes": row.size_bytes, "share": {n: row[n] for n in row if n != "size_bytes"}}
        for row in found.phases
    ]
    title = "Phases of one copy to a peer"
    drawn.append(panel(title, shares, place, "share.* %", kind="stacked"))
    for op, rows in grouped(found.energy.rows, lambda row: row.collective).items():
        lines = []
        for row in rows:
            of = {n: v.over_rccl["power"] for n, v in row.variants.items() if n[-3:] != "_pl"}
            lines.append({"size_bytes": row.size_bytes, "power": of})
        saved = [line["power"]["pcpy"] for line in lines]
        ends = [(100 * e["low"], 100 * e["high"]) if e["low"] else None for e in saved]
        title = f"{op}: power saved over compute units"
        how = {"bands": {"pcpy": ends}}
        drawn.append(panel(title, lines, place, "power.*.saving %", **how))
    return drawn
