"""Kind ``c3``: how much of the ideal overlap of a GEMM and a collective does each strategy reach?

*ratio_of_means* = (mean speedup - 1) / (mean ideal speedup - 1); fractions are None where nothing
can overlap; *band*: the 5th and 95th percentile of the mean fraction over all that may have been
otherwise (:mod:`c3sim.experiments.answer`), weighed by isolated facts where the study has any
(:mod:`c3sim.experiments.facts`); *prior_band*: without them; *auto*: how much longer the choices of
the heuristics take than the best ones, as a fraction. Published means are never an input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from c3sim.errors import InputError
from c3sim.experiments.answer import answer_of
from c3sim.experiments.cases import Case, collective_of, gemm_of, shape_of
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.pairs import classify, isolated_pair
from c3sim.experiments.papers import sweep
from c3sim.experiments.study import Asked, Row, StudyResult
from c3sim.experiments.subjects.isolated import characterise
from c3sim.output.kit.grid import Table
from c3sim.output.kit.panels import Panel
from c3sim.output.kit.text import FRACTION_EXPLAINED, OWN_EXPLAINED, percent, times
from c3sim.spec.study import Study

#: A loss up to which the choice of the heuristics is the best one: rounding.
NO_LOSS = 1e-9
FLAGS = {"Q": "quoted", "S": "second-hand"}
cases = sweep.cases


def row(case: Case, study: Study) -> Row:
    """What is found of each strategy, and the pair with its isolated times [s]."""
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


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def strategy_means(found: Sequence[Row]) -> Row:
    """Over what was *found* of a strategy in all cases."""
    outcomes = [each.outcome for each in found]
    speedup = fmean(each.speedup for each in outcomes)
    ideal = fmean(each.ideal_speedup for each in found)
    return Row(
        mean_fraction_of_ideal=_mean([each.fraction_of_ideal for each in outcomes]),
        ratio_of_means=(speedup - 1) / (ideal - 1) if ideal > 1 else None,
        mean_own_fraction=_mean([each.own_fraction for each in outcomes]),
        mean_speedup=speedup,
        max_speedup=max(each.speedup for each in outcomes),
    )


def auto_summary(found: Sequence[Row]) -> Row:
    """What the heuristics lose, over what was *found* of auto."""
    losses = [each.loss for each in found]
    return Row(
        mean_loss=fmean(losses),
        max_loss=max(losses),
        best_in=sum(loss <= NO_LOSS for loss in losses),
        of=len(losses),
        chosen=dict(Counter(each.outcome.chosen for each in found)),
    )


def tables(found: StudyResult) -> list[Table | str]:
    columns = ["name as scenario", "class", "shape as GEMM", "collective", "bytes size as per GPU"]
    columns += ["gemm_isolated_s ms as Tg", "comm_isolated_s ms as Tc", "fraction.* %0", "best"]
    lines = []
    for each in found.scenarios:
        gemm, outcomes = each.gemm, each.strategies
        best = max(outcomes, key=lambda name: outcomes[name].speedup, default=None)
        line = {
            "shape": f"{gemm['m']}, {gemm['n']}, {gemm['k']} {gemm['dtype']}",
            "fraction": {name: one.fraction_of_ideal for name, one in outcomes.items()},
            "best": best and f"{times(outcomes[best].speedup)} {best}",
        }
        lines.append({**each, **line})
    note = f"Tg, Tc: the GEMM, and the collective on compute units, alone\n{FRACTION_EXPLAINED}"
    title = f"{found.title}: fraction of ideal (%) per scenario"
    parts: list[Table | str] = [Table(title, lines, columns, note)]
    columns = ["strategy", "mean_fraction_of_ideal %", "ratio_of_means %", "mean_own_fraction %"]
    columns += ["mean_speedup x", "max_speedup x"]
    columns += ["prior_band %0"] * ("facts" in found)
    columns += ["band %0", "published %", "off %"]
    lines = []
    for name, each in found.strategies.items():
        theirs, ours = _published(found, name), each.mean_fraction_of_ideal
        off = None if theirs is None or ours is None else ours - theirs
        lines.append({**each, "strategy": name, "published": theirs, "off": off})
    note = (
        "means over the scenarios; ratio of means: (mean speedup - 1) / (mean ideal speedup - 1)\n"
        "band: 5 % to 95 % of what may have been otherwise; off: simulated less published"
        f"\n{FRACTION_EXPLAINED}\n{OWN_EXPLAINED}"
    )
    if found.published.get("source"):
        note += f"\npublished: {found.published['source']}"
    title = f"{found.title}: strategies over {len(found.scenarios)} scenarios"
    parts += [Table(title, lines, columns, note), "\n".join(_remarks(found))]
    return [*parts, *(_answer(found) if "answer" in found else ())]


def _published(found: StudyResult, name: str) -> float | None:
    value = (found.published.get("mean_fraction_of_ideal") or {}).get(name)
    return None if value is None else float(value)


def _remarks(found: StudyResult) -> Iterator[str]:
    """The loss of the heuristics, and what the study is checked against."""
    if "auto" in found:
        auto = found.auto
        chosen = ", ".join(f"{name} {count}x" for name, count in auto.chosen.items())
        loss = f"loss {percent(auto.mean_loss)} % mean, {percent(auto.max_loss)} % at most"
        best = f"best choice in {auto.best_in} of {auto.of} scenarios"
        yield f"auto, from isolated times: {best}, {loss}; chose {chosen}"
    if found.published.get("note"):
        yield " ".join(str(found.published["note"]).split())


def _answer(found: StudyResult) -> list[Table | str]:
    """What was drawn, what isolated facts exclude, what each thing does alone, the order, and the
    band of each mean.
    """
    answer, title = found.answer, found.title
    drawn = answer.drawn
    parts: list[Table | str] = []
    name = "not known about the published runs, so drawn"
    parts.append(Table(name, drawn.assumptions, ["name as assumption", "usual"]))
    if "facts" in answer:
        parts.append(_facts_table(answer))
    parts.append(_alone_table(answer, title))
    if "order" in answer:
        parts.append(_order_table(answer.order, title))
    lines = [{"strategy": name, **band} for name, band in answer.strategies.items()]
    for line in lines:
        line["prior"] = _ends(line.get("prior"))
        line["band"] = _ends([line["low"], line["high"]])
    columns = ["strategy", "published %0", "usual %0", "prior > as prior"]
    columns += ["band > as conditioned" if "facts" in answer else "band >", "median %0", "verdict"]
    parts.append(_lost_table(answer, title))
    note = "\n".join(_verdict(answer))
    return [*parts, Table(f"{title}: the answer as a band", lines, columns, note)]


def _ends(band: Sequence[float] | None) -> str | None:
    return None if band is None else " to ".join(percent(end, 0) for end in band)


def _facts_table(answer: Row) -> Table:
    lines = []
    for each in answer.facts:
        scale = 1e3 if each.unit == "s" else 1.0
        low, high = ("" if end is None else f"{scale * end:.4g}" for end in each.published)
        words = low if low == high else f"{low} to {high}".strip()
        lines.append(
            {
                "fact": each.fact + ", ms" * (each.unit == "s"),
                "published": words,
                "error": each.error,
                "usual": each.usual and f"{scale * each.usual:.4g}",
                "excluded": each.excluded_share,
            }
        )
    columns = ["fact as isolated fact", "published > as published", "error %0", "usual > as here"]
    drawn = answer.drawn
    note = (
        f"excluded: share of {drawn.screened} draws more than two errors away; all facts together"
    )
    note += f" leave what {drawn.effective:.0f} draws of one weight tell"
    missed = [each.fact for each in answer.facts if not each.weighs]
    if missed:
        note += f"\nno draw comes near, so it weighs nothing: {'; '.join(missed)}"
    return Table("isolated facts that draws are weighed by", lines, [*columns, "excluded %0"], note)


def _alone_table(answer: Row, title: str) -> Table:
    drawn = answer.drawn
    moving = [
        {"what": f"{each.name}: {each.value}{' *' * ('excluded_by' in each)}", **each}
        for each in answer.changes
        if each.kind != "parameter" or any(round(100 * by, 1) for by in each.by.values())
    ]
    notes = [f"means over every third scenario: {', '.join(drawn.some)}"]
    excluded = {
        f"* {each.name}: {each.value}, excluded by {each.excluded_by[0]}"
        + f" and {len(each.excluded_by) - 1} more" * (len(each.excluded_by) > 1)
        for each in answer.changes
        if "excluded_by" in each
    }
    name = f"{title}: one thing at a time, change of the mean fraction of ideal (points)"
    note = "\n".join([*notes, *sorted(excluded)])
    return Table(name, moving, ["what as alone otherwise", "by.* %"], note)


def _lost_table(answer: Row, title: str) -> Table:
    drawn = answer.drawn
    note = (
        f"means over {', '.join(drawn.some)}; alone: what it takes alone against the yardstick;"
        " waiting: workgroups that lack\ncompute units; together: what is lost to several at once;"
        " 100 + alone - the others = fraction"
    )
    columns = ["strategy", "alone %", "waiting %", "memory %", "links %", "clock %", "together %"]
    name = f"{title}: where each mean comes from (points of the fraction of ideal)"
    return Table(name, answer.lost, [*columns, "fraction %"], note)


def _order_table(order: Row, title: str) -> Table:
    lines = [
        {**m, "pair": f"{m.lower} < {m.higher}", "moved": _moved(m), "band": _ends([m.low, m.high])}
        for m in order.margins
    ]
    columns = ["pair as published order", "verdict", "usual %", "band >", "holds %0"]
    name = f"{title}: does the published order hold? (points between the two)"
    return Table(name, lines, [*columns, "moved as moved most by"])


def _moved(of: Row) -> str | None:
    return f"{of.most.name}: {of.most.value}, {100 * of.most.by:+.1f}" if of.most else None


def _verdict(answer: Row) -> Iterator[str]:
    """What the band is of, and what it says, in sentences."""
    drawn, order = answer.drawn, answer.get("order")
    draws = f"{drawn.draws} draws" * bool(drawn.draws)
    if "facts" in answer:
        draws = f"{drawn.conditioned} draws that isolated facts weigh"
    draws += f" by {drawn.yardsticks} yardsticks" * bool(draws and drawn.yardsticks > 1)
    tables = f"{drawn.tables} other tables of pairs" * bool(drawn.tables)
    sums = ", each with ".join(part for part in (draws, tables) if part) or "the study alone"
    yield f"band: 5 % to 95 % of {sums}" + f"; prior: {drawn.draws} draws" * ("facts" in answer)
    if drawn.failed:
        yield f"{drawn.failed} more draws have values that exclude each other"
    for name, band in answer.strategies.items():
        if band.most:
            yield f"{name} is moved most by {_moved(band)} points"
        if band.narrow:
            yield f"{name}: {percent(band.high - band.low, 0)} points wide; measure {band.narrow}"
    known = [band.inside for band in answer.strategies.values() if band.inside is not None]
    if known:
        yield f"verdict: {sum(known)} of {len(known)} published means lie inside the band"
    if order is not None:
        groups = " < ".join(", ".join(group) for group in order.groups)
        yield f"verdict: the published order, {groups}, holds in {percent(order.holds, 0)} %"
        if order.holds < 1:
            weakest = min(order.margins, key=lambda margin: (margin.holds, margin.usual))
            yield f"least often: {weakest.lower} < {weakest.higher}, {percent(weakest.holds, 0)} %"
            if weakest.most:
                yield f"what decides it: {_moved(weakest)} points"
            if weakest.usual <= 0 and weakest.best:
                best = f"{weakest.best.name}: {weakest.best.value}, {100 * weakest.best.by:+.1f}"
                yield f"missing: {percent(-weakest.usual)} points; {best} adds most"


def claims(found: StudyResult) -> Iterator[Claim]:
    """Means with their bands, speedups, isolated behaviour."""
    flags = found.published.get("flags", {})
    answers = found.answer.strategies if "answer" in found else {}
    for key, unit in (("mean_fraction_of_ideal", "%"), ("mean_speedup", "x"), ("max_speedup", "x")):
        for name, theirs in (found.published.get(key) or {}).items():
            if name in found.strategies and theirs is not None:
                of = found.strategies[name]
                more: dict[str, Any] = {"standing": FLAGS.get(flags.get(key, {}).get(name), "")}
                if unit == "%" and name in answers:
                    more |= {"band": of.get("band"), "decides": _moved(answers[name]) or ""}
                yield claim(f"{key.replace('_', ' ')}, {name}", of[key], theirs, unit=unit, **more)
    for each in found.get("characterisation", ()):
        unit = {"1": "%"}.get(each.unit, each.unit)
        how = FLAGS.get(each.flag, "")
        span = tuple(each.range) if each.range[0] < each.range[1] else None
        yield claim(each.name, each.predicted, each.published, unit=unit, standing=how, band=span)


def panels(found: StudyResult) -> list[Panel]:
    """Mean fraction of each strategy with its band and the published one; every scenario under it.
    Raises InputError: nothing to draw.
    """
    if not found.scenarios:
        raise InputError("this study has no scenarios to draw")
    names, means = list(found.strategies), found.strategies
    fractions = [100 * (means[name].mean_fraction_of_ideal or 0.0) for name in names]
    theirs = [_published(found, name) for name in names]
    bands = [means[name].get("band") for name in names]
    best = [f"{percent(means[name].mean_fraction_of_ideal)}" for name in names]
    first = Panel(
        title=f"Mean fraction of ideal over {len(found.scenarios)} scenarios",
        unit="%",
        x=names,
        series={"simulated": fractions},
        kind="bars",
        known={"simulated": [None if each is None else 100 * each for each in theirs]},
        bands={"simulated": [band and (100 * band[0], 100 * band[1]) for band in bands]},
        notes=best,
        label="",
    )
    cells: dict[str, list[float | None]] = {}
    for name in names:
        of = [each.strategies.get(name) for each in found.scenarios]
        shares = [None if one is None else one.fraction_of_ideal for one in of]
        cells[name] = [None if share is None else 100 * share for share in shares]
    x = [f"{each.name}  {each['class']}" for each in found.scenarios]
    title = "Fraction of ideal per scenario (%), 100: the ideal with collectives on compute units"
    return [first, Panel(title=title, unit="", x=x, series=cells, kind="cells")]
