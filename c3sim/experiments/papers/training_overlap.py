"""Kind ``training_overlap``: how much of a training step's communication hides behind computing, by
the variant of its overlap, and what limits it?

Each iteration has as many of its model's layers as the GPUs of a node have memory for under every
variant. The first variant is also what they are compared with: with T0 its wall time and C0 its
collectives alone, a variant of wall time T hides (T0 - T) / C0 of the communication. A step loses
*exposed_s* + *stretched_s* = wall_s - compute_s. Stretched time is less than nothing where
operators run quicker than without communication: while it runs alone a GPU draws less, and under a
power limit it is clocked higher afterwards. *removal*: part of the wall time of a few layers that
goes where computing and communication do not share one thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from c3sim.evaluation.effort import Effort
from c3sim.experiments.iterations import IterationCase, effort_of_one, iteration_cases, most_layers
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.iterations.build import build
from c3sim.iterations.runs import launched
from c3sim.kit.grid import Table, remarks, tables_by
from c3sim.kit.panels import Panel, panels_by
from c3sim.simulation.runs import settled_before
from c3sim.simulation.simulate import simulate
from c3sim.spec.study import Study

LAYERS = 2  # of the runs in which something is not shared
#: Kinds of sharing between computing and communication that can stretch either.
SHARED = ("compute_units", "hbm", "clock")
WORDS = {"exposed": "exposed communication", "compute_units": "compute units"}
WORDS |= {"hbm": "memory bandwidth", "clock": "clock"}


def cases(asked: Asked) -> list[IterationCase]:
    found = iteration_cases(asked.study, asked.nodes())
    steps = grouped(found, lambda case: (case.file, case.node.name))
    return [case for variants in steps.values() for case in _as_many_layers(variants)]


def _as_many_layers(variants: Sequence[IterationCase]) -> list[IterationCase]:
    """All *variants* of a step with as many layers as fit under each; None: all of the model."""
    unlike = {case.loaded.iteration.model_dump_json(): case for case in variants}
    most = [most_layers(case).loaded.iteration.layers for case in unlike.values()]
    fitting = min((count for count in most if count is not None), default=None)
    return [case.with_fields(layers=fitting) for case in variants]


def effort(asked: Asked, cases: Sequence[IterationCase]) -> tuple[Effort, int]:
    return effort_of_one(cases[0]), 2 * len(cases)


def row(case: IterationCase, _: Study) -> Row:
    result = case.run()
    removed = removal(case)
    return Row(
        model=case.loaded.model.name,
        node=case.node.name,
        variant=case.name,
        layers=result.layers,
        wall_s=result.wall_s,
        compute_s=result.compute_s,
        communication_s=result.communication_s,
        exposed_s=result.overlap.exposed_s,
        stretched_s=result.overlap.stretched_s,
        hidden=0.0,
        limited_by=limited_by(result.overlap.exposed_s, result.overlap.stretched_s or 0.0, removed),
        removal=removed,
        tokens_per_s=result.tokens_per_s,
        mfu=result.mfu,
        memory_bytes=result.memory_bytes,
        fits=result.fits,
    )


def removal(case: IterationCase) -> dict[str, float]:
    """Kind of sharing -> part of the wall time of a few layers that goes without it."""
    planned = case.planned()
    built = build(planned, min(LAYERS, planned.own_layers))
    workload = case.change(launched(built.workload, eager=False))
    settled = settled_before(case.node, workload)

    def wall(private: frozenset[str]) -> float:
        run = simulate(case.node, workload, private=private, by_class=True, settled=settled)
        return run.end

    whole = wall(frozenset())
    return {kind: 1.0 - wall(frozenset((kind,))) / whole for kind in SHARED}


def limited_by(exposed: float, stretched: float, removed: Mapping[str, float]) -> str:
    """The largest loss: ``exposed`` communication, or what stretches operators most."""
    if exposed >= stretched:
        return "exposed"
    return max(removed, key=lambda kind: removed[kind])


def reduce(asked: Asked, _: Sequence[IterationCase], rows: list[Row]) -> Mapping[str, Any]:
    for variants in _steps(rows).values():
        first = variants[0]
        for row in variants:
            row["hidden"] = (first.wall_s - row.wall_s) / first.communication_s
    node = ", ".join(node.name for node in asked.nodes())
    ordered = [row for variants in _steps(rows).values() for row in variants]
    return {"node": node, "rows": ordered, "published": asked.study.published}


def _steps(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    return grouped(rows, lambda row: (row.model, row.node))


def tables(found: StudyResult) -> list[Table | str]:
    columns = ["variant", "wall_s ms", "compute_s ms", "communication_s ms", "exposed_s ms"]
    columns += ["stretched_s ms", "hidden %0", "mfu %", "without.* % as without *", "limited by"]
    note = (
        "hidden: of the communication of the first variant; without ...: part of the wall time that"
        " goes if computing and communication do not share it"
    )
    lines = []
    for row in found.rows:
        without = {WORDS[kind].split()[0]: share for kind, share in row.removal.items()}
        name = row.variant + ("" if row.fits else " (too large)")
        more = {"without": without, "limited by": WORDS[row.limited_by]}
        lines.append({**row, "variant": name, **more})
    title = found.name + ": {layers} layers of {model} on {node}"
    return [*tables_by(title, lines, columns, note), remarks(found.published)]


def panels(found: StudyResult) -> list[Panel]:
    """Computing, stretched and exposed time of each variant, in % of the first one's time.
    Operators that run quicker than without communication shorten the computing time.
    """
    title, drawn = "{layers} layers of {model}, {node}: time without overlap 100 %", list[Panel]()
    for rows in _steps(found.rows).values():
        lines = []
        for row in rows:
            parts = {
                "computing": row.compute_s + min(0.0, row.stretched_s),
                "stretched": max(0.0, row.stretched_s),
                "exposed": row.exposed_s,
            }
            lines.append({**row, "of": {n: part / rows[0].wall_s for n, part in parts.items()}})
        notes = [f"{row.hidden:.0%} hidden" for row in rows]
        drawn += panels_by(title, lines, "variant", "of.* %", kind="stacked", notes=notes)
    return drawn
