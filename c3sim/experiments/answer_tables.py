"""Tables of the study of C3: scenarios, strategies; and of its answer: facts, what each thing does
alone, the order, the bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from c3sim.experiments.study import Row, StudyResult, grouped
from c3sim.kit.grid import Table
from c3sim.kit.text import FRACTION_EXPLAINED, OWN_EXPLAINED, percent, times


def tables(found: StudyResult) -> list[Table | str]:
    """Scenarios, strategies, remarks, and the answer where there is one."""
    parts = [_scenarios_table(found), _strategies_table(found), "\n".join(_remarks(found))]
    return [*parts, *(_answer_tables(found.answer, found.title) if "answer" in found else ())]


def summary(found: StudyResult) -> list[Table | str]:
    """Means as run, bands, published means, verdicts; of a run without a band means alone."""
    if "answer" in found and found.answer.strategies:
        return [_summary_table(found.answer, found.title), FRACTION_EXPLAINED]
    columns = ["strategy", "mean_fraction_of_ideal % as as run", "mean_speedup x"]
    lines = [
        {"strategy": name, **each, "published": published_mean(found, name)}
        for name, each in found.strategies.items()
    ]
    columns += ["published %"] * any(line["published"] is not None for line in lines)
    title = f"{found.title}: mean fraction of ideal, {len(found.scenarios)} scenarios"
    return [Table(title, lines, columns, FRACTION_EXPLAINED)]


def _scenarios_table(found: StudyResult) -> Table:
    """Shapes, isolated times and fractions of ideal of every scenario."""
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
    return Table(f"{found.title}: fraction of ideal (%) per scenario", lines, columns, note)


def _strategies_table(found: StudyResult) -> Table:
    """Means of every strategy over the scenarios, beside published ones."""
    columns = ["strategy", "mean_fraction_of_ideal %", "ratio_of_means %", "mean_own_fraction %"]
    columns += ["mean_speedup x", "max_speedup x"]
    columns += ["prior_band %0"] * ("facts" in found)
    columns += ["band %0", "published %", "off %"]
    lines = []
    for name, each in found.strategies.items():
        theirs, ours = published_mean(found, name), each.mean_fraction_of_ideal
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
    return Table(title, lines, columns, note)


def published_mean(found: StudyResult, name: str) -> float | None:
    """The published mean fraction of ideal of strategy *name*."""
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


def _answer_tables(answer: Row, title: str) -> list[Table | str]:
    """Tables: what was drawn, what isolated facts exclude, what each thing does alone, the order,
    and the band of each mean.
    """
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


def _summary_table(answer: Row, title: str) -> Table:
    """Each mean as run, its band before and after isolated facts, the published mean, a verdict;
    and what that says in all, with what would narrow a band that cannot tell.
    """
    lines = [
        {
            "strategy": name,
            **band,
            "before": _ends(band.get("prior")),
            "range": _ends([band.low, band.high]),
        }
        for name, band in answer.strategies.items()
    ]
    columns = ["strategy", "usual %0 as as run"]
    columns += ["before > as prior\n(%)"] * ("facts" in answer)
    columns += ["range > as band\n(%)", "published %0", "verdict"]
    said = [line for line in _verdict(answer) if line.startswith(("band:", "verdict:"))]
    said += _narrowing(answer)
    return Table(f"{title}: mean fraction of ideal", lines, columns, "\n".join(said))


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
    note = f"excluded: share of {drawn.whole} draws more than two errors away; all facts together"
    note += f" leave of {drawn.screened} what {drawn.effective:.0f} draws of one weight tell"
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
    notes = [f"means over every second pair, under one operation: {', '.join(drawn.some)}"]
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
        " waiting: workgroups that lack compute units; together: what is lost to several at once;"
        " 100 + alone - the others = fraction"
    )
    columns = ["strategy", "alone %", "waiting %", "memory %", "links %", "clock %", "together %"]
    name = f"{title}: where each mean comes from (points of the fraction of ideal)"
    return Table(name, answer.lost, [*columns, "fraction %"], note)


def _order_table(order: Row, title: str) -> Table:
    lines = [
        {
            **m,
            "pair": f"{m.lower} < {m.higher}",
            "moved": most_of(m),
            "band": _ends([m.low, m.high]),
        }
        for m in order.margins
    ]
    columns = ["pair as published order", "verdict", "usual %", "band >", "holds %0"]
    name = f"{title}: does the published order hold? (points between the two)"
    return Table(name, lines, [*columns, "moved as moved most by"])


def most_of(of: Row) -> str | None:
    """The things that move *of*, a band or a margin, most."""
    return f"{of.most.name}: {of.most.value}, {100 * of.most.by:+.1f}" if of.most else None


def own_outside(bands: Mapping[str, Row]) -> Iterator[str]:
    """A line for each strategy whose own mean its band does not hold, with the reason."""
    for name, band in bands.items():
        if not band.low <= band.usual <= band.high:
            side = "below" if band.usual < band.low else "above"
            yield (
                f"{name}: {percent(band.usual)} % as it is lies {side} its band: intervals reach"
                " further to one side of the file's values"
            )


def _narrowing(answer: Row) -> Iterator[str]:
    """A line for bands that cannot tell: the measurement that would narrow them most."""
    wide = [(name, band) for name, band in answer.strategies.items() if band.narrow]
    for measure, bands in grouped(wide, lambda each: each[1].narrow).items():
        widths = [percent(band.high - band.low, 0) for _, band in bands]
        names, wide_by = ", ".join(name for name, _ in bands), ", ".join(dict.fromkeys(widths))
        yield f"{names}: {wide_by} points wide; measure {measure}"


def _verdict(answer: Row) -> Iterator[str]:
    """The band in sentences: of what it is, and what it says."""
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
            yield f"{name} is moved most by {most_of(band)} points"
    yield from _narrowing(answer)
    yield from own_outside(answer.strategies)
    known = [band.inside for band in answer.strategies.values() if band.inside is not None]
    if known:
        yield f"verdict: {sum(known)} of {len(known)} published means lie inside the band"
    if order is not None:
        groups = " < ".join(", ".join(group) for group in order.groups)
        yield f"verdict: the published order, {groups}, holds in {percent(order.holds, 0)} %"
        for margin in order.margins:
            if margin.verdict != "holds" and "evidence" in margin:
                yield f"verdict: {margin.lower} < {margin.higher}: {margin.evidence}"
        if order.holds < 1:
            weakest = min(order.margins, key=lambda margin: (margin.holds, margin.usual))
            yield f"least often: {weakest.lower} < {weakest.higher}, {percent(weakest.holds, 0)} %"
            if weakest.most:
                yield f"what decides it: {most_of(weakest)} points"
            if weakest.usual <= 0 and weakest.best:
                best = f"{weakest.best.name}: {weakest.best.value}, {100 * weakest.best.by:+.1f}"
                yield f"missing: {percent(-weakest.usual)} points; {best} adds most"
