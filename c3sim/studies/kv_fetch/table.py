"""Tables of a study of kind ``kv_fetch``: cost of one copy, one request, many requests, claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures, percent, size, times
from c3sim.studies.kv_fetch.study import BASE, Claim, KvFetchResult, Row

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

BEST = "batched"


def tables(study: KvFetchResult) -> list[RenderableType]:
    from rich.text import Text

    one = [row for row in study.rows if row.requests == 1]
    many = [row for row in study.rows if row.requests > 1]
    parts: list[RenderableType] = [copy_table(study)]
    parts += [request_table(one, study.about.node)] if one else []
    parts += [queue_table(many, study.about.node)] if many else []
    lines = [line for claim in study.claims for line in _claim(claim)]
    lines += [_why_copies(study), *_why_prelaunch(study)]
    source = study.published.get("source")
    if source:
        how = "set-up not public, so the ratios are compared and not the cases"
        lines.append(f"published: {source}; {how}")
    return [*parts, Text("\n".join(lines))]


def copy_table(study: KvFetchResult) -> Group:
    """A row per block size: what one copy takes by each method, beside what is reported."""
    names = list(study.copies[0].per_copy_s)
    table = make_table(["block"], [f"{name}\n(us)" for name in names])
    for row in study.copies:
        cells = (_cost(row.per_copy_s[name], row.reported_s.get(name)) for name in names)
        add_row(table, size(row.size_bytes), *cells)
    source = study.published.get("copy_source")
    note = f"simulated / reported: {' '.join(source.split())}" if source else "simulated"
    return stack("one copy from host memory, in a row of many", table, note)


def _cost(ours: float, theirs: float | None) -> str:
    beside = f" / {1e6 * theirs:.1f} ({100 * (ours / theirs - 1):+.0f} %)" if theirs else ""
    return f"{1e6 * ours:.2f}{beside}"


def request_table(rows: Sequence[Row], node: str) -> Group:
    """A row per case of one request: time to first token by copies one by one, speedups over it."""
    names = [name for name in rows[0].methods if name != BASE]
    headers = ["prompt\n(tokens)", "hit\n(%)", "fetch\n(%)", f"TTFT\n{BASE}\n(ms)"]
    table = make_table(["model", "block", "load"], [*headers, *(f"{name}\n(x)" for name in names)])
    for row in rows:
        add_row(
            table,
            row.label,
            size(row.block_bytes),
            row.load,
            str(row.prompt_tokens),
            percent(row.hit_rate, 0),
            percent(row.fetch_share, 0),
            figures(1e3 * row.methods[BASE].ttft_s.mean),
            *(f"{row.speedups['latency'][name]:.2f}" for name in names),
        )
    return stack(
        f"one request on {node}: time to first token",
        table,
        "gather, batched, batched_pl: speedup over per_block; fetch: its share of the time to first"
        " token by per_block",
    )


def queue_table(rows: Sequence[Row], node: str) -> Group:
    """A row per case of many requests: throughput, its speedups, times to and between tokens."""
    names = [name for name in rows[0].methods if name != BASE]
    headers = ["arrivals\n(1/s)", "prompt\n(tokens)", "hit\n(%)", f"served\n{BASE}\n(1/s)"]
    headers += [f"{name}\n(x)" for name in names]
    headers += [f"TTFT p50, p90\n{name}\n(ms)" for name in (BASE, BEST)]
    headers += [f"ITL\n{name}\n(ms)" for name in (BASE, BEST)]
    table = make_table(["model", "block", "load"], headers)
    for row in rows:
        rate, served = row.arrivals_per_second, [row.methods[name] for name in (BASE, BEST)]
        add_row(
            table,
            row.label,
            size(row.block_bytes),
            row.load,
            "at once" if rate is None else f"{rate:g}",
            str(row.prompt_tokens),
            percent(row.hit_rate, 0),
            figures(row.methods[BASE].requests_per_s),
            *(f"{row.speedups['throughput'][name]:.2f}" for name in names),
            *(f"{_ms(each.ttft_s.p50, 2)}, {_ms(each.ttft_s.p90, 2)}" for each in served),
            *(MISSING if each.itl_s is None else _ms(each.itl_s.mean, 3) for each in served),
        )
    return stack(
        f"many requests on {node}: throughput and latency",
        table,
        "gather, batched, batched_pl: requests per second over those of per_block\n"
        "TTFT: time to first token; ITL: between tokens, mean",
    )


def _ms(seconds: float, count: int) -> str:
    return figures(1e3 * seconds, count)


def _claim(claim: Claim) -> list[str]:
    """The published words, the largest speedup here, and where the published one is reached."""
    if claim.simulated is None:
        return []
    blocks = ", ".join(size(count) for count in claim.reached_blocks) or "no"
    never = [size(count) for count in claim.missed_blocks if count not in claim.reached_blocks]
    line = (
        f"{claim.of}: published {claim.text}; batched DMA over per_block here up to"
        f" {times(claim.simulated)} ({claim.where}); {times(claim.low)} reached in"
        f" {len(claim.reached)} of {claim.cases} cases, with {blocks} blocks"
    )
    return [line + (f"; never with {', '.join(never)} blocks" if never else "")]


def _why_copies(study: KvFetchResult) -> str:
    """What bounds the speedups: how much less a copy costs in a batch."""
    used = {row.block_bytes for row in study.rows}
    ratios = (
        f"{times(row.per_copy_s[BASE] / row.per_copy_s[BEST])} with {size(row.size_bytes)}"
        for row in study.copies
        if row.size_bytes in used
    )
    return (
        "why: a batch takes the waiting of one copy for the other away, not the read of host memory"
        f" and the link, so a fetch becomes at most {', '.join(ratios)} blocks faster; the rest of"
        " the time to first token stays"
    )


def _why_prelaunch(study: KvFetchResult) -> list[str]:
    """What prelaunch takes off a fetch."""
    fetches = [
        (row.methods["batched"].fetch_s, row.methods["batched_pl"].fetch_s)
        for row in study.rows
        if row.methods["batched"].fetch_s
    ]
    if not fetches:
        return []
    saved = [batched - prelaunched for batched, prelaunched in fetches]
    share = max(1 - prelaunched / batched for batched, prelaunched in fetches)
    return [
        f"prelaunch takes {1e6 * min(saved):.0f} to {1e6 * max(saved):.0f} us off a fetch,"
        f" {percent(share)} % at most: what the host takes to submit the batch before its doorbell"
    ]
