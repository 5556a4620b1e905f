"""Tables of the answer of a study: facts, what each thing does alone, the order, the bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from c3sim.experiments.study import Row
from c3sim.kit.grid import Table
from c3sim.kit.text import percent


def answer_tables(answer: Row, title: str) -> list[Table | str]:
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


def summary_table(answer: Row, title: str) -> Table:
    """Each mean as run, its band, the published one, a verdict; and what that says in all."""
    lines = [
        {"strategy": name, **band, "range": _ends([band.low, band.high])}
        for name, band in answer.strategies.items()
    ]
    columns = ["strategy", "usual %0 as as run", "range > as band\n(%)", "published %0", "verdict"]
    said = [line for line in _verdict(answer) if line.startswith(("band:", "verdict:"))]
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
        if band.narrow:
            yield f"{name}: {percent(band.high - band.low, 0)} points wide; measure {band.narrow}"
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
