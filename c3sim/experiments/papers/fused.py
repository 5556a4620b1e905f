"""Kind ``fused``: computation and collective in one persistent kernel, against one after the other.

saving = 1 - fused / unfused    both in parts that add up (c3sim/experiments/subjects/fusing.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from c3sim.experiments.bands import around, reduced
from c3sim.experiments.cases import NONE, assumed
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.points import node_with
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects.fusing import Placed, Said, gains, placed, row_of, training
from c3sim.kit.grid import Table, at, remarks, titled
from c3sim.kit.panels import Panel, panel

MATTERS = 0.05  # of the time: what the ends of an interval move that is told

cases, row = placed, row_of


def reduce(asked: Asked, cases: Sequence[Placed], rows: list[Row]) -> Mapping[str, Any]:
    """``by_node``: savings of an operator on each node; ``training``: a step on many nodes, where a
    node has several.
    """
    operators = grouped(rows, lambda row: row.operator)
    found = {
        "rows": rows,
        "summary": {name: _summary(of) for name, of in operators.items()},
        "by_node": {
            name: {node: _summary(of) for node, of in grouped(all_, lambda row: row.node).items()}
            for name, all_ in operators.items()
        },
        "skew": _skews([row for row in rows if row.skew is not None]),
        "training": _training(cases, assumed(asked.study, Said)),
        "assumptions": asked.study.assumptions,
        "published": asked.study.published if asked.options.node is None else {},
    }
    for each in rows:
        each["band"] = {"saving": around(each.saving, each.pop("drawn"), each.pop("ends"))}
        del each["skews"]
    return found


def _skews(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Mean skew of two nodes without and with the order, and its band; {}: of no two nodes."""
    found = {}
    for which in ("without", "with") if rows else ():
        drawn = [[draw[which] for draw in row.skews] for row in rows]
        of_all = reduced(mean, [row.skew[which] for row in rows], drawn)
        found[which] = Row(mean=of_all.value, band=of_all.band)
    return found


def _training(cases: Sequence[Placed], said: Said) -> Row | None:
    """The training step, and the band of what it saves; None: no node is one of several."""
    wide = next((case for case in cases if case.node.scale_out is not None), None)
    if wide is None:
        return None
    step = training(said, wide.node)
    drawn = [training(said, node_with(wide.node, NONE, draw)).saving for draw in wide.draws]
    return Row(step, band=around(step.saving, drawn))


def _summary(rows: Sequence[Row]) -> Row:
    """*parts*: of the unfused time, mean; *decides*: the largest of them that fusing takes away."""
    parts = {
        f"{side}{part}": mean(row[entry][part] / row.unfused_s for row in rows)
        for side, entry in (("", "unfused"), ("fused_", "fused"))
        for part in rows[0][entry]
    }
    gained = gains(parts)
    most = sorted(gained, key=lambda name: -abs(gained[name]))[:2]
    decides = ", ".join(f"{name} {gained[name]:+.0%}" for name in most)
    savings, drawn, ends = ([row[entry] for row in rows] for entry in ("saving", "drawn", "ends"))
    figures = Row()
    for name, of in (("mean", mean), ("max", max)):
        found = reduced(of, savings, drawn, ends)
        figures |= {f"{name}_saving": found.value, f"{name}_band": found.band}
        figures[f"{name}_ends"] = found.ends
    return Row(figures, parts=parts, decides=decides)


def tables(found: StudyResult) -> list[Table | str]:
    columns = ["operator", "node", "configuration", "unfused_s us", "fused_s us", "saving %"]
    columns += ["unfused.* us", "fused.* us"]
    said = found.assumptions
    why = [f"{name} {said[name]}: {said[f'{name}_why']}" for name in said if f"{name}_why" in said]
    steps = ["node", "nodes", "unfused_s ms", "fused_s ms", "saving %", "exchange_share %"]
    return [
        Table("operators", found.rows, columns, "\n".join(why)),
        Table("a training step", [found.training], steps) if found.training else "",
        remarks(found.published),
    ]


def claims(found: StudyResult) -> Iterator[Claim]:
    known = found.published
    for operator, nodes in found.by_node.items():
        for node, summary in nodes.items():
            for name in ("mean", "max"):
                what = f"{operator} on {node}, {name}"
                ours, why = summary[f"{name}_saving"], summary.decides
                for number, path in enumerate(found.assumptions.get("ends", ())):
                    low, high = summary[f"{name}_ends"][2 * number :][:2] or (ours, ours)
                    if max(low, high) - min(low, high) > MATTERS:
                        why = f"{path}, at its ends {low:.0%} and {high:.0%}; {why}"
                more = {"unit": "%", "decides": why, "band": summary[f"{name}_band"]}
                yield claim(what, ours, at(known, f"savings.{operator}.{node}.{name}"), **more)
    for which, ours in found.skew.items():
        what = f"skew of two nodes {which} the order"
        why = "order of tasks" if which == "without" else "how far GPUs differ in speed"
        more = {"unit": "%", "decides": why, "band": ours.band}
        yield claim(what, ours.mean, at(known, f"skew.{which}"), **more)
    if step := found.training:
        what = f"training step, {step.nodes} nodes of {step.node}"
        why = f"{step.exchange_share:.0%} of the step is embedding and all-to-all"
        theirs = at(known, "training.low"), at(known, "training.high")
        yield claim(what, step.saving, theirs, unit="%", decides=why, band=step.band)


def panels(found: StudyResult) -> list[Panel]:
    """Time saved in every configuration (m x n x k), and what is published."""
    drawn = []
    for title, rows in titled("{operator} on {node}: time saved", found.rows).items():
        known = at(found.published, "savings.{operator}.{node}".format(**rows[0])) or {}
        levels = {f"published {name} {share:.0%}": 100 * share for name, share in known.items()}
        how: dict[str, Any] = {"kind": "bars", "levels": levels}
        drawn.append(panel(title, rows, "configuration", "saving %", bands="band.* %", **how))
    for title, fused in (
        ("The unfused operator, means over sizes", False),
        ("The fused operator, of the unfused one's time", True),
    ):
        sides = [
            {"what": f"{operator} on {node}", "parts": _side(summary.parts, fused=fused)}
            for operator, nodes in found.by_node.items()
            for node, summary in nodes.items()
        ]
        drawn.append(panel(title, sides, "what", "parts.* %", kind="stacked"))
    return drawn


def _side(parts: Mapping[str, float], *, fused: bool) -> dict[str, float]:
    ours = {name: of for name, of in parts.items() if name.startswith("fused_") == fused}
    return {name.removeprefix("fused_"): of for name, of in ours.items()}
