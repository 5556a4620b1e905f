"""Kind ``fused``: computation and collective in one persistent kernel, against one after the other.

    saving = 1 - fused / unfused

Both sides are told in parts that add up (c3sim/experiments/subjects/operators.py).

The skew of two nodes is the difference of their ends over the time of both. Each waits for the
other's part. Where every GPU makes its results in the order of destinations, the first makes its
own part first and the second what the first waits for; so the second waits longer:

    ends of the two = the fused run with the own part last, and the one with it first
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean
from typing import Any

from pydantic import Field

from c3sim.errors import InputError
from c3sim.experiments.bands import around, draws_within, ends_within
from c3sim.experiments.cases import NONE, assumed, node_of, rows_of
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.points import Settings, node_with
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects.operators import (
    Configuration,
    Operator,
    compared,
    conditions_of,
    saved,
    skew,
    training,
)
from c3sim.kit.grid import Table, remarks, titled
from c3sim.kit.panels import Panel, panel
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.quantities import Extent, Parts
from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.study import Study

MATTERS = 0.05  # of the time: what the ends of an interval move that is told


class Entry(Spec):
    """A row of the table: an operator on a node, with every m, n and k."""

    operator: Operator
    node: str
    m: tuple[Extent, ...] = Field(min_length=1)
    n: tuple[Extent, ...] = Field(min_length=1)
    k: tuple[Extent, ...] = Field(min_length=1)


class Said(Spec):
    """Assumptions of the study; *nodes*, *batch*, *model*: of the training step; *ends*: numbers
    that decide so much that both ends of their intervals are in every band.
    """

    occupancy: float = Field(gt=0, le=1)
    slices: int = Field(gt=0, le=4096)
    staging: bool
    nodes: Parts
    batch: Extent
    model: str
    draws: int = Field(0, ge=0, le=1000)
    drawn: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A *configuration* on a node; *draws*, *ends*: values [SI] that it is run with as well."""

    name: str
    node: Node
    configuration: Configuration
    draws: tuple[Settings, ...] = ()
    ends: tuple[Settings, ...] = ()


def cases(asked: Asked) -> list[Placed]:
    """Every row of the table; on a node asked for each configuration once. Raises InputError."""
    given, nodes, found = asked.options.node, dict[str, Node](), list[Placed]()
    draws: dict[str, tuple[tuple[Settings, ...], tuple[Settings, ...]]] = {}
    said = assumed(asked.study, Said)  # wrong ones are told before hours of work
    for entry in rows_of(asked.study, Entry):
        name = given.name if given else entry.node
        if name not in nodes:
            nodes[name] = node_of(asked.study, given or load_hardware(name).node)
            if nodes[name].ranks < 2:
                raise InputError(f"{name} has one GPU; a collective needs two")
            known = asked.options.provenance if given else load_hardware(name).provenance
            loaded = LoadedNode(node=nodes[name], provenance=known)
            drawn = draws_within(loaded, said.drawn, asked.options, said.draws)
            draws[name] = drawn, ends_within(loaded, said.ends) if drawn else ()
        for size in product(entry.m, entry.n, entry.k):
            one = Configuration(entry.operator, *size)
            within = dict(zip(("draws", "ends"), draws[name], strict=True))
            found.append(Placed(name=one.name, node=nodes[name], configuration=one, **within))
    return list({(each.node.name, each.configuration): each for each in found}.values())


def row(case: Placed, study: Study) -> Row:
    """*skew*: of two nodes, without and with the order; None in a node."""
    node, one, how = case.node, case.configuration, conditions_of(study)
    found = compared(node, one, how)
    drawn = [node_with(node, NONE, draw) for draw in case.draws]
    two = node.nodes == 2
    return Row(
        operator=one.operator,
        node=node.name,
        nodes=node.nodes,
        gpus=node.ranks,
        configuration=one.name,
        **found,
        saving=1.0 - found.fused_s / found.unfused_s,
        drawn=[saved(each, one, how) for each in drawn],
        ends=[saved(node_with(node, NONE, end), one, how) for end in case.ends],
        skew=skew(node, one, how) if two else None,
        skews=[skew(each, one, how) for each in drawn] if two else [],
    )


def reduce(asked: Asked, cases: Sequence[Placed], rows: list[Row]) -> Mapping[str, Any]:
    """``by_node``: savings of an operator on each node; ``training``: a step on many nodes, where a
    node has several.
    """
    wide = next((case.node for case in cases if case.node.scale_out is not None), None)
    operators = grouped(rows, lambda row: row.operator)
    summary = {name: _summary(of) for name, of in operators.items()}
    by_node = {
        name: {node: _summary(of) for node, of in grouped(all_, lambda row: row.node).items()}
        for name, all_ in operators.items()
    }
    skews = _skews([row for row in rows if row.skew is not None])
    for each in rows:
        each["band"] = {"saving": around(each.saving, each.pop("drawn"), each.pop("ends"))}
        del each["skews"]
    return {
        "rows": rows,
        "summary": summary,
        "by_node": by_node,
        "skew": skews,
        "training": _training(cases, asked.study, wide) if wide is not None else None,
        "assumptions": asked.study.assumptions,
        "published": asked.study.published if asked.options.node is None else {},
    }


def _skews(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Mean skew of two nodes without and with the order, and its band; {}: of no two nodes."""
    found = {}
    for which in ("without", "with") if rows else ():
        drawn = [
            mean(each[which] for each in draw)
            for draw in zip(*(r.skews for r in rows), strict=True)
        ]
        here = mean(row.skew[which] for row in rows)
        found[which] = Row(mean=here, band=around(here, drawn))
    return found


def _training(cases: Sequence[Placed], study: Study, wide: Node) -> Row:
    """The training step, and the band of what it saves."""
    draws = next(case.draws for case in cases if case.node is wide)
    found = training(study, wide)
    drawn = [training(study, node_with(wide, NONE, draw)).saving for draw in draws]
    return Row(found, band=around(found.saving, drawn))


def _summary(rows: Sequence[Row]) -> Row:
    """*parts*: of the unfused time, mean; *decides*: the largest of them that fusing takes away."""
    savings = [row.saving for row in rows]
    parts = {
        f"{side}{part}": mean(row[entry][part] / row.unfused_s for row in rows)
        for side, entry in (("", "unfused"), ("fused_", "fused"))
        for part in rows[0][entry]
    }
    overlap = parts["compute"] + parts["transfer"] - parts["fused_longer"]
    gone = {name: parts[name] for name in ("staging", "library", "launch", "synchronisation")}
    added = {name: -parts[f"fused_{name}"] for name in ("occupancy", "flags", "exposed")}
    all_ = {"overlap": overlap, **gone, **added}
    first, second = sorted(all_, key=lambda name: -abs(all_[name]))[:2]
    decides = f"{first} {all_[first]:+.0%}, {second} {all_[second]:+.0%}"
    bands, means = {}, {}
    for name, of in (("mean", mean), ("max", max)):
        drawn, ends = (
            [of(each) for each in zip(*(row[entry] for row in rows), strict=False)]
            for entry in ("drawn", "ends")
        )
        means[f"{name}_saving"], means[f"{name}_ends"] = of(savings), ends
        bands[f"{name}_band"] = around(of(savings), drawn, ends)
    return Row(**means, **bands, parts=parts, decides=decides)


def tables(found: StudyResult) -> list[Table | str]:
    columns = ["operator", "node", "configuration", "unfused_s us", "fused_s us", "saving %"]
    columns += ["unfused.* us", "fused.* us"]
    said = found.assumptions
    why = [f"{name} {said[name]}: {said[f'{name}_why']}" for name in said if f"{name}_why" in said]
    more = [found.training] if found.training is not None else []
    steps = ["node", "nodes", "unfused_s ms", "fused_s ms", "saving %", "exchange_share %"]
    return [
        Table("operators", found.rows, columns, "\n".join(why)),
        *([Table("a training step", more, steps)] if more else []),
        remarks(found.published),
    ]


def claims(found: StudyResult) -> Iterator[Claim]:
    savings, known = found.published.get("savings", {}), found.published
    for operator, nodes in found.by_node.items():
        for node, summary in nodes.items():
            theirs = savings.get(operator, {}).get(node, {})
            for name in ("mean", "max"):
                what = f"{operator} on {node}, {name}"
                ours, why = summary[f"{name}_saving"], summary.decides
                for number, path in enumerate(found.assumptions.get("ends", ())):
                    low, high = summary[f"{name}_ends"][2 * number :][:2] or (ours, ours)
                    if max(low, high) - min(low, high) > MATTERS:
                        why = f"{path}, at its ends {low:.0%} and {high:.0%}; {why}"
                more = {"unit": "%", "decides": why, "band": summary[f"{name}_band"]}
                yield claim(what, ours, theirs.get(name), **more)
    for which, ours in found.skew.items():
        what = f"skew of two nodes {which} the order"
        why = "order of tasks" if which == "without" else "how far GPUs differ in speed"
        theirs = known.get("skew", {}).get(which)
        yield claim(what, ours.mean, theirs, unit="%", decides=why, band=ours.band)
    step = found.training
    if step is not None:
        ends = known.get("training", {})
        what = f"training step, {step.nodes} nodes of {step.node}"
        why = f"{step.exchange_share:.0%} of the step is embedding and all-to-all"
        theirs = (ends.get("low"), ends.get("high"))
        yield claim(what, step.saving, theirs, unit="%", decides=why, band=step.band)


def panels(found: StudyResult) -> list[Panel]:
    """Time saved in every configuration (m x n x k), and what is published."""
    drawn = []
    for title, rows in titled("{operator} on {node}: time saved", found.rows).items():
        known = found.published.get("savings", {}).get(rows[0].operator, {}).get(rows[0].node, {})
        levels = {f"published {name} {share:.0%}": 100 * share for name, share in known.items()}
        how: dict[str, Any] = {"kind": "bars", "levels": levels}
        drawn.append(panel(title, rows, "configuration", "saving %", bands="band.* %", **how))
    made = [
        {"what": f"{operator} on {node}", **_sides(summary.parts)}
        for operator, nodes in found.by_node.items()
        for node, summary in nodes.items()
    ]
    title = "The unfused operator, means over sizes"
    drawn.append(panel(title, made, "what", "unfused.* %", kind="stacked"))
    title = "The fused operator, of the unfused one's time"
    drawn.append(panel(title, made, "what", "fused.* %", kind="stacked"))
    return drawn


def _sides(parts: Mapping[str, float]) -> dict[str, dict[str, float]]:
    fused = {name.removeprefix("fused_"): of for name, of in parts.items() if "fused_" in name}
    return {"unfused": {n: of for n, of in parts.items() if "fused_" not in n}, "fused": fused}
