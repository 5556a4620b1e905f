"""Kind ``pieces``: which way of running a dependent collective and GEMM piece by piece is the
quickest, and what does a heuristic from sizes alone give away?

A heuristic from static sizes is fitted on every second GEMM and scored on the others, which it has
not seen; by engines and by kernels apart. Of its choices *loss* is their time over that of the best
of the four, less 1; *fitted*: of a GEMM that it has seen. *choosers*: the same rule, the best
constant and the simulator, on measured times. Published and measured figures are never inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from c3sim.experiments.cases import Case
from c3sim.experiments.claims import Claim
from c3sim.experiments.study import Asked, Row, StudyResult
from c3sim.experiments.subjects.pieces import (
    FOUR,
    SERIAL,
    SHARDS,
    cases_of,
    choosers,
    pieces_of,
    row_of,
)
from c3sim.experiments.trees import scored
from c3sim.kit.grid import Table, remarks, tables_by
from c3sim.kit.panels import Panel, panels_by
from c3sim.kit.text import MISSING, percent
from c3sim.spec.study import Study

MOVES = {"dma": "by engines", "kernels": "by kernels"}


def cases(asked: Asked) -> list[Case]:
    return cases_of(asked.study, asked.options.node)


def row(case: Case, study: Study) -> Row:
    return row_of(case, pieces_of(study))


def reduce(asked: Asked, cases: Sequence[Case], rows: list[Row]) -> Mapping[str, Any]:
    """``heuristic``: by engines (by what there is otherwise); ``max_speedup`` over serial and
    ``max_ideal_speedup`` by the same; ``shards_slower``: shards against all links.
    """
    plan = pieces_of(asked.study)
    fitted = set(list(plan.gemms)[::2])
    scores = {
        by: scored([row for row in rows if row.by == by], fitted, tuple(FOUR)) for by in plan.by
    }
    known = {by: score for by, score in scores.items() if score is not None}
    first = [row for row in rows if row.by == plan.by[0]]
    slower = [row.shards_slower for row in first if "shards_slower" in row]
    return {
        "scenarios": rows,
        "heuristic": known.get(plan.by[0]),
        "heuristics": known,
        "max_speedup": max(row.schedules[row.best].speedup for row in first),
        "max_ideal_speedup": max(row.ideal_speedup for row in first),
        "shards_slower": max(slower, default=None),
        "choosers": choosers(asked),
        "published": asked.published(cases[0].node),
    }


def tables(found: StudyResult) -> list[Table | str]:
    columns = ["gemm", "serial ms", "ideal_speedup x as ideal", "schedules.* >", "best"]
    columns += ["heuristic", "loss %"]
    note = (
        "speedup over serial (pieces; lost to decomposition/contention, % of serial)\n"
        "ideal: serial over the longer of GEMM and collective alone; *: fitted on this GEMM"
    )
    lines = [_line(row) for row in found.scenarios]
    parts = tables_by("{collective} on {node}, {moves}", lines, columns, note)
    scores = [{"moved": MOVES[by], **score} for by, score in found.heuristics.items()]
    columns = ["moved", "rule", "scenarios", "hit_rate % as right", "mean_loss %"]
    columns += ["swapped_hit_rate %", "swapped_mean_loss %", "fixed", "fixed_hit_rate %"]
    title = "which of the four, from static sizes alone: fitted on every second GEMM"
    note = "intensity: FLOP per byte; footprint: MK + KN + MN; aspect: M / K; loss where wrong"
    parts.append(Table(title, scores, [*columns, "fixed_mean_loss %"], note))
    if found.choosers:
        columns = ["chooser", "choices", "mean_regret %1", "worst_regret %1"]
        title = "choosers on measured times, of GEMMs that they have not seen measured"
        note = "constant: of the others the best as measured; rule: fitted on their predictions"
        parts.append(Table(title, found.choosers, columns, note))
    return [*parts, remarks(found.published)]


def _line(row: Row) -> dict[str, Any]:
    cells = {}
    for name in (SHARDS, *FOUR):
        each = row.schedules.get(name)
        lost = each and f"{percent(each.decomposition_loss)}/{percent(each.contention_loss)}"
        cells[name] = f"{each.speedup:.2f} ({each.pieces}; {lost})" if each else None
    name = row.gemm if row.fits else f"{row.gemm} (too large)"
    chosen = (row.heuristic or MISSING) + "*" * row.fitted
    serial = row.schedules[SERIAL].time_s
    said = {"gemm": name, "heuristic": chosen, "moves": MOVES[row.by]}
    return {**row, **said, "serial": serial, "schedules": cells}


def claims(found: StudyResult) -> list[Claim]:
    """The claims; a published figure is the most of many, so it holds where as much is reached."""
    ours = {"ideal": found.max_ideal_speedup, "speedup": found.max_speedup}
    ours |= {"shards": found.shards_slower}
    score = found.heuristic
    ours |= {"heuristic": score.hit_rate if score else None}
    decides = _decides(found)
    made = []
    for each in found.published.get("claims", ()):
        unit = "%" if each["of"] == "heuristic" else "x"
        number = each["value"].removeprefix("up to ").split()[0].rstrip("x,")
        low = float(number) / 100 if unit == "%" else float(number)
        more: Any = {"unit": unit, "decides": decides.get(each["of"], "")}
        made.append(Claim(what=each["text"], ours=ours[each["of"]], low=low, high=low, **more))
    return made


def _decides(found: StudyResult) -> dict[str, str]:
    """The scenario in which most is reached, and what bounds it there; the rule that is learnt."""
    first = [row for row in found.scenarios if row.by == found.scenarios[0].by]
    most = max(first, key=lambda row: row.schedules[row.best].speedup)
    near = max(first, key=lambda row: row.ideal_speedup)
    best = most.schedules[most.best]
    lost = f"{percent(best.decomposition_loss)} and {percent(best.contention_loss)} %"
    said = {
        "ideal": f"{near.gemm}, {near.collective}: {1e3 * near.gemm_s:.3g} ms of GEMM,"
        f" {1e3 * near.move_s:.3g} of transfer",
        "speedup": f"{most.gemm}, {most.collective}, {most.best} in {best.pieces}: cutting and"
        f" contention lose {lost} of serial",
    }
    slow = [row for row in first if "shards_slower" in row]
    if slow:
        worst = max(slow, key=lambda row: row.shards_slower)
        said["shards"] = f"{worst.gemm}, {worst.collective}: one link at a time, as long alone"
    if found.heuristic:
        said["heuristic"] = f"the rule is: {found.heuristic.rule}"
    return said


def panels(found: StudyResult) -> list[Panel]:
    """Speedups over serial by GEMM, and the ideal; of what moves first."""
    first = [row for row in found.scenarios if row.by == found.scenarios[0].by]
    rows = [
        {**row, "of": {"ideal": {"speedup": row.ideal_speedup}, **row.schedules}} for row in first
    ]
    title = "{collective}, {node}: speedup over serial"
    return panels_by(title, rows, "gemm", "of.*.speedup x", kind="points")
