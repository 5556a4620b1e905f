"""Kind ``kv_fetch``: does it pay to fetch keys and values of a prompt from host memory by batched
DMA, and why (not)?

Speedups are over ``per_block``, copies submitted one by one: of the latency (mean time to first
token) and of the throughput (requests per second). *fetch_share*: of the fetch in the time to first
token by ``per_block``, known for one request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from c3sim.evaluation.effort import Effort
from c3sim.experiments.claims import Claim
from c3sim.experiments.serving import (
    BASE,
    BATCHED,
    SHOWN,
    ServingCase,
    copy_cost,
    effort_of_serving,
    forget,
    row_of,
    serving_cases,
)
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.kit.grid import Table
from c3sim.kit.panels import Panel, panel
from c3sim.kit.text import size, times
from c3sim.spec.study import Study

SHOWN |= {"hit_rate", "requests", "arrivals_per_second"}
WORTH = 10_000  # cases of one node and model share what they have simulated


def cases(asked: Asked) -> list[ServingCase]:
    return serving_cases(asked.study, asked.options.node)


def effort(asked: Asked, cases: Sequence[ServingCase]) -> tuple[Effort, int]:
    return Effort.mean(effort_of_serving(case.serving) for case in cases), len(cases)


def row(case: ServingCase, _: Study) -> Row:
    return row_of(case)


def reduce(asked: Asked, cases: Sequence[ServingCase], rows: list[Row]) -> Mapping[str, Any]:
    forget()
    node = cases[0].node
    published = asked.published(node)
    reported = published.get("copy_costs", ())
    sizes = {row.block_bytes for row in rows} | {entry["bytes"] for entry in reported}
    one = node.model_copy(update={"gpus": 1})
    cost = partial(copy_cost, one, cases[0].serving.gather_workgroups, reported)
    return {
        "rows": rows,
        "copies": [cost(size) for size in sorted(sizes)],
        "claims": [_claim(rows, claim) for claim in published.get("claims", ())],
        "published": published,
    }


def _claim(rows: Sequence[Row], published: Mapping[str, Any]) -> Row:
    """A *published* speedup beside the largest one of batched copies, in the rows that it is about:
    of latency one request, else many; and by which cases and blocks its low end is reached.
    """
    measure, low = published["of"], published["low"]

    def best(row: Row) -> float:
        return float(max(row.speedups[measure][name] for name in BATCHED))

    about = [row for row in rows if (row.requests == 1) == (measure == "latency")]
    reached = [row for row in about if best(row) >= low]
    missed = [row for row in about if best(row) < low]
    top = max(about, key=best, default=None)
    return Row(
        of=measure,
        low=low,
        high=published["high"],
        text=published["text"],
        simulated=None if top is None else best(top),
        where=None if top is None else top.scenario,
        cases=len(about),
        reached=[row.scenario for row in reached],
        reached_blocks=sorted({row.block_bytes for row in reached}),
        missed_blocks=sorted({row.block_bytes for row in missed}),
    )


def tables(found: StudyResult) -> list[Table | str]:
    source = found.published.get("copy_source")
    note = f"reported: {' '.join(source.split())}" if source else ""
    columns = ["bytes size as block", "per_copy_s.* us", "reported_s.* us as reported *"]
    parts: list[Table | str] = [
        Table("one copy from host memory, in a row of many", found.copies, columns, note)
    ]
    common = ["label as model", "block_bytes size as block", "load", "prompt_tokens as prompt"]
    for title, measure, many in (
        (f"one request on {found.node}: time to first token", "latency", False),
        (f"many requests on {found.node}: throughput and latency", "throughput", True),
    ):
        rows = [row for row in found.rows if (row.requests > 1) == many]
        columns = [*common, "hit_rate %0 as hit"]
        if many:
            columns += ["arrivals_per_second 1/s as arrivals", "methods.*.requests_per_s 1/s"]
            columns += [f"methods.{name}.itl_s.mean ms as ITL {name}" for name in (BASE, "batched")]
        else:
            columns += ["fetch_share %0 as fetch"]
        columns += [f"methods.{BASE}.ttft_s.mean ms as TTFT {BASE}", f"speedups.{measure}.* x"]
        note = "TTFT: time to first token; ITL: between tokens; x: over per_block"
        parts += [Table(title, rows, columns, note)] if rows else []
    return [*parts, "\n".join([*map(_reached, found.claims), *_why(found)])]


def _reached(claim: Row) -> str:
    """The published words, the largest speedup here, and where the published one is reached."""
    if claim.simulated is None:
        return ""
    blocks = ", ".join(size(count) for count in claim.reached_blocks) or "no"
    never = [size(count) for count in claim.missed_blocks if count not in claim.reached_blocks]
    line = (
        f"{claim.of}: published {claim.text}; batched DMA over per_block here up to"
        f" {times(claim.simulated)} ({claim.where}); {times(claim.low)} reached in"
        f" {len(claim.reached)} of {claim.cases} cases, with {blocks} blocks"
    )
    return line + (f"; never with {', '.join(never)} blocks" if never else "")


def _why(found: StudyResult) -> Iterator[str]:
    """The bounds of the speedups, and the time that prelaunch takes off a fetch."""
    used = {row.block_bytes for row in found.rows}
    ratios = (
        f"{times(row.per_copy_s[BASE] / row.per_copy_s['batched'])} with {size(row.bytes)}"
        for row in found.copies
        if row.bytes in used
    )
    yield (
        "why: a batch takes the waiting of one copy for the other away, not the read of host memory"
        f" and the link, so a fetch becomes at most {', '.join(ratios)} blocks faster; the rest of"
        " the time to first token stays"
    )
    fetches = [[row.methods[name].fetch_s for name in BATCHED] for row in found.rows]
    saved = [batched - prelaunched for batched, prelaunched in fetches if batched]
    if saved:
        share = max(1 - prelaunched / batched for batched, prelaunched in fetches if batched)
        yield (
            f"prelaunch takes {1e6 * min(saved):.0f} to {1e6 * max(saved):.0f} us off a fetch,"
            f" {share:.1%} at most: what the host takes to submit the batch before its doorbell"
        )
    if found.published.get("source"):
        how = "set-up not public, so the ratios are compared and not the cases"
        yield f"published: {found.published['source']}; {how}"


def claims(found: StudyResult) -> Iterator[Claim]:
    for each in found.claims:
        where = f"{each.of}: {each.text}; here at most"
        of = next((row for row in found.rows if row.scenario == each.where), None)
        copies = {row.bytes: row.per_copy_s for row in found.copies}
        more: dict[str, Any] = {}
        if of is not None:
            of_copy = copies[of.block_bytes]
            ratio = times(of_copy[BASE] / of_copy["batched"])
            more["decides"] = f"{of.scenario}: a copy of {size(of.block_bytes)} in a batch, {ratio}"
        yield Claim(what=where, ours=each.simulated, low=each.low, high=each.high, **more)


def panels(found: StudyResult) -> list[Panel]:
    """Costs of one copy by block, and speedups by hit rate: of the batch with prelaunch."""
    title, known = "One copy from host memory, in a row of many", "reported_s.* us"
    columns = ("bytes size", "per_copy_s.* us")
    drawn = [panel(title, found.copies, *columns, known=known, log=True)]
    for measure, many in (("latency", False), ("throughput", True)):
        rows = [row for row in found.rows if (row.requests > 1) == many]
        rates = sorted({row.hit_rate for row in rows})
        lines = grouped(
            rows, lambda row: f"{row.label}, {size(row.block_bytes)}, {row.prompt_tokens}"
        )
        series = {}
        for name, of in lines.items():
            best = {row.hit_rate: row.speedups[measure]["batched_pl"] for row in of}
            series[name] = [best.get(rate) for rate in rates]
        levels = {f"published {c.text}": c.high for c in found.claims if c.of == measure}
        title = f"{measure}: batched_pl over per_block, by hit rate"
        hits = [f"{rate:.0%}" for rate in rates]
        if rows:
            drawn.append(Panel(title=title, unit="x", x=hits, series=series, levels=levels))
    return drawn
