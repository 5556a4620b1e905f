"""Kind ``dma_variants``: which command program on DMA engines is the quickest for which size, and
what does it spend? Against copies on parallel engines (pcpy) and against compute units (rccl).

Names of variants are those of :mod:`c3sim.evaluation.strategies.dma_variants`; ``_pl``:
prelaunched, behind a poll. Small is below 32 MiB and large from there on, as in arXiv 2511.06605;
claims are ratios of times, means geometric. *moving*: the saving of power over pcpy if the variant
took as long as pcpy: what it does per byte, not from being slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from c3sim.errors import InputError
from c3sim.experiments.cases import Case, workload_cases
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.study import Asked, Row, StudyResult
from c3sim.experiments.subjects.programs import (
    beside,
    energies,
    errors_of,
    intervals_of,
    row_of,
    saver,
)
from c3sim.kit.grid import Table, remarks, tables_by
from c3sim.kit.panels import Panel, panel, panels_by
from c3sim.spec.study import Study
from c3sim.spec.words import unknown


def cases(asked: Asked) -> list[Case]:
    return workload_cases(asked.loaded, asked.options.node)


def row(case: Case, _: Study) -> Row:
    return row_of(case)


def reduce(asked: Asked, cases: Sequence[Case], found: list[Row]) -> Mapping[str, Any]:
    node = cases[0].node
    published = asked.published(node)
    rows = [_timed(each, published.get("speedup", {})) for each in found]
    by_size = {each.phases.size_bytes: each.phases for each in found}
    errors = errors_of(rows, published.get("calibration_bytes", ()))
    return {
        "rows": rows,
        "phases": [by_size[size] for size in sorted(by_size)],
        "claims": list(beside(rows, published.get("claims", {}))),
        **({"errors": errors} if errors is not None else {}),
        "energy": energies(node, found, intervals_of(asked.provenance()), published.get("power")),
        "published": published,
    }


def _timed(found: Row, speedups: Mapping[str, Any]) -> Row:
    """Times and speedups over pcpy beside published ones, by operation and size."""
    times = {variant: run.time_us for variant, run in found.runs.items()}
    op, columns = found.what.collective, speedups.get("columns", {})
    theirs = speedups.get(op, {}).get(str(found.what.size_bytes), ())
    if strange := [name for name in columns.get(op, ()) if theirs and name not in times]:
        where = f"published.speedup.columns.{op}"
        raise InputError(unknown("variant", strange[0], times), where)
    return Row(
        found.what,
        variants={variant: Row(time_us=time) for variant, time in times.items()},
        rccl=Row(time_us=found.rccl.time_us),
        best=min(times, key=lambda variant: times[variant]),
        speedups={variant: times["pcpy"] / time for variant, time in times.items()},
        published=dict(zip(columns.get(op, ()), theirs, strict=True)) if theirs else {},
    )


def tables(found: StudyResult) -> list[Table | str]:
    shares = ["control %0", "schedule %0", "copy %0", "sync %0"]
    columns = ["size_bytes size as size", *shares, "published > as published (%)"]
    known = found.published.get("phases") or {}
    lines = [{**row, "published": known.get(str(row.size_bytes))} for row in found.phases]
    parts: list[Table | str] = [Table("phases of one copy to a peer", lines, columns)]
    where = "{collective} on " + found.node
    columns = ["size_bytes size as size", "best", "variants.pcpy.time_us as pcpy", "speedups.* x"]
    columns += ["rccl.time_us as rccl", "published.* x as publ. *"]
    note = "times in us; rccl: on compute units"
    parts += tables_by(where + ": speedup over pcpy", found.rows, columns, note)
    columns = ["size_bytes size as size", "rccl.power_w_per_gpu W as rccl"]
    columns += ["rccl.energy_per_byte nJ/B as rccl", "variants.*.power_w_per_gpu W"]
    columns += ["variants.*.energy_per_byte nJ/B"]
    columns += ["variants.pcpy.over_rccl.power.saving % as saved"]
    measured = found.energy.measured
    known = f"power was measured: {measured}" if measured else "no power was measured on this node"
    note = f"mean power of a GPU, idle power included; {known}"
    parts += tables_by(where + ": power, energy per byte", found.energy.rows, columns, note)
    if "errors" in found:
        worst = {name: f"{share:.1%}" for name, share in found.errors.items() if name != "of"}
        parts.append(
            f"speedups against {found.errors.of} published ones, calibration sizes left out: off by"
            f" {worst['median']} in the median, {worst['p90']} at the 90th percentile,"
            f" {worst['max']} at most"
        )
    return [*parts, remarks(found.published)]


def claims(found: StudyResult) -> Iterator[Claim]:
    """Ratios of times: decided by both sides at both ends of sizes. Power: by the component."""
    for each in found.claims:
        yield claim(each.what, each.simulated, each.published, decides=each.decides)
    power = found.energy.get("published") or {}
    for each in found.energy.get("large", ()):
        over_rccl = each.variant == "pcpy"
        if over_rccl or not each.variant.endswith("_pl"):
            saving = (each.over_rccl if over_rccl else each.over_pcpy)["power"]
            theirs = power["saving_over_rccl" if over_rccl else "saving_of_variants"]
            what = f"{each.collective}, {each.variant}: power saved over "
            ends = None if saving["low"] is None else (saving["low"], saving["high"])
            where = "compute units" if over_rccl else "pcpy"
            more: dict[str, Any] = {
                "unit": "%",
                "band": ends,
                "decides": saver(found.energy.rows, each),
            }
            yield claim(what + where, saving["saving"], theirs, **more)


def panels(found: StudyResult) -> list[Panel]:
    """Speedups over pcpy, phases of a copy, power saved over compute units."""
    rows = []
    for row in found.rows:
        over = {**row.speedups, "rccl": row.variants["pcpy"].time_us / row.rccl.time_us}
        rows.append({**row, "over": over})
    spent = []
    for row in found.energy.rows:
        over = {n: v.over_rccl["power"] for n, v in row.variants.items() if n[-3:] != "_pl"}
        ends = {"pcpy": (over["pcpy"]["low"], over["pcpy"]["high"])}
        spent.append({**row, "over": over, "ends": ends})
    phases = [
        {"size_bytes": row.pop("size_bytes"), "share": row} for row in map(dict, found.phases)
    ]
    title, power = "{collective}: speedup over pcpy", "{collective}: power saved over compute units"
    x = "size_bytes size"
    return [
        *panels_by(title, rows, x, "over.* x", known="published.* x", log=True),
        panel("Phases of one copy to a peer", phases, x, "share.* %", kind="stacked"),
        *panels_by(power, spent, x, "over.*.saving %", bands="ends.* %"),
    ]
