"""Kind ``c3``: how much of the ideal overlap of a GEMM and a collective does each strategy reach?

*ratio_of_means* = (mean speedup - 1) / (mean ideal speedup - 1); fractions are None where nothing
can overlap; *band*: the 5th and 95th percentile of the mean fraction over all that may have been
otherwise (:mod:`c3sim.experiments.answer`), weighed by isolated facts where the study has any
(:mod:`c3sim.experiments.facts`); *prior_band*: without them; *auto*: how much longer the choices of
the heuristics take than the best ones, as a fraction. Published means are never an input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from c3sim.errors import InputError
from c3sim.experiments import answer_tables
from c3sim.experiments.answer import answer_of
from c3sim.experiments.answer_tables import most_of, published_mean
from c3sim.experiments.cases import Case, collective_of, gemm_of, shape_of, workload_cases
from c3sim.experiments.claims import FIRST, SECOND, Claim, claim
from c3sim.experiments.pairs import classify, isolated_pair
from c3sim.experiments.papers import sweep
from c3sim.experiments.papers.sweep import auto_summary, strategy_means
from c3sim.experiments.study import Asked, Row, StudyResult
from c3sim.experiments.subjects.isolated import characterise
from c3sim.kit.panels import Panel, panel
from c3sim.kit.text import percent, times
from c3sim.spec.study import Study

WORTH = 20  # scenarios from which other processes pay: each has some twenty runs
FLAGS = {"Q": FIRST, "S": SECOND}
tables, summary = answer_tables.tables, answer_tables.summary


def cases(asked: Asked) -> list[Case]:
    return workload_cases(asked.loaded, asked.options.node)


def row(case: Case, study: Study) -> Row:
    """The findings of each strategy, and the pair with its isolated times [s]."""
    found = sweep.row(case, study)
    _, collective = collective_of(case)
    gemm_s, comm_s = isolated_pair(case)
    scenario = Row(
        {"name": case.name, "label": case.label, "class": classify(gemm_s, comm_s)},
        collective=collective.op,
        bytes=int(collective.size),
        gemm=shape_of(gemm_of(case)[1]),
        gemm_isolated_s=gemm_s,
        comm_isolated_s=comm_s,
        ideal_speedup=(gemm_s + comm_s) / max(gemm_s, comm_s),
        strategies={strategy: each.outcome for strategy, each in found.items()},
    )
    return Row(found=found, scenario=scenario)


def reduce(asked: Asked, cases: Sequence[Case], rows: list[Row]) -> Mapping[str, Any]:
    study, found = asked.study, [row.found for row in rows]
    scenarios = [row.scenario for row in rows]
    means = {name: strategy_means([each[name] for each in found]) for name in study.strategies}
    more: dict[str, Any] = {}
    if "auto" in study.strategies:
        more["auto"] = auto_summary([each["auto"] for each in found])
    if study.characterisation:
        figures = study.published.get("characterisation", {})
        more["characterisation"] = characterise(cases, figures)
    outcomes = [each.strategies for each in scenarios]
    answer = answer_of(asked, cases, outcomes) if asked.options.band else None
    for name, band in (answer.strategies if answer is not None else {}).items():
        means[name]["band"] = [band.low, band.high]
        if "prior" in band:
            means[name]["prior_band"] = band.prior
    if answer is not None:
        more["answer"] = answer
        if "facts" in answer:
            more["facts"] = answer.facts
    known = {"rows": sweep.rows_of(found), "published": study.published}
    return {**known, "strategies": means, "scenarios": scenarios, **more}


def claims(found: StudyResult) -> Iterator[Claim]:
    """Means with their bands, speedups, isolated behaviour."""
    flags = found.published.get("flags", {})
    answers = found.answer.strategies if "answer" in found else {}
    for key, unit in (("mean_fraction_of_ideal", "%"), ("mean_speedup", "x"), ("max_speedup", "x")):
        for name, theirs in (found.published.get(key) or {}).items():
            if name in found.strategies and theirs is not None:
                of = found.strategies[name]
                more: dict[str, Any] = {"standing": FLAGS.get(flags.get(key, {}).get(name), "")}
                if key == "max_speedup" or name not in answers:
                    more["decides"] = _best_scenario(found, name)
                if unit == "%" and name in answers:
                    more |= {"band": of.get("band"), "decides": most_of(answers[name]) or ""}
                yield claim(f"{key.replace('_', ' ')}, {name}", of[key], theirs, unit=unit, **more)
    for each in found.get("characterisation", ()):
        unit = {"1": "%"}.get(each.unit, each.unit)
        how = FLAGS.get(each.flag, "")
        span = each.range if each.range[0] < each.range[1] else None
        more = {"standing": how, "band": span, "decides": each.decides}
        yield claim(each.name, each.predicted, each.published, unit=unit, **more)


def _best_scenario(found: StudyResult, name: str) -> str:
    """The pair on which strategy *name* gains most, and the ideal there."""
    known = [each for each in found.scenarios if name in each.strategies]
    most = max(known, key=lambda each: each.strategies[name].speedup)
    return f"{most.name}, {most.label}: ideal {times(most.ideal_speedup)}"


def panels(found: StudyResult) -> list[Panel]:
    """Mean fraction of each strategy with its band and the published one; every scenario under it.
    Raises InputError: nothing to draw.
    """
    if not found.scenarios:
        raise InputError("this study has no scenarios to draw")
    means, series = [], "simulated"
    for name, each in found.strategies.items():
        mean = each.mean_fraction_of_ideal
        line = {"strategy": name, "mean": {series: mean or 0.0}, "notes": percent(mean)}
        ends = {"known": {series: published_mean(found, name)}, "band": {series: each.get("band")}}
        means.append({**line, **ends})
    scenarios = [
        {
            "place": f"{each.name}  {each['class']}",
            "fraction": {
                name: each.strategies[name].fraction_of_ideal
                for name in found.strategies
                if name in each.strategies
            },
        }
        for each in found.scenarios
    ]
    title = f"Mean fraction of ideal over {len(scenarios)} scenarios"
    if "answer" in found:
        title += "; line: its band, 5 % to 95 % of what may have been otherwise"
    beside: Any = {"known": "known.* %", "bands": "band.* %", "kind": "bars"}
    notes = [line["notes"] for line in means]
    first = panel(title, means, "strategy", "mean.* %", notes=notes, **beside)
    title = "Fraction of ideal per scenario (%), 100: the ideal with collectives on compute units"
    cells = panel(title, scenarios, "place", "fraction.* %", kind="cells")
    return [first, replace(cells, unit="")]
