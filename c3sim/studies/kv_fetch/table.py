"""Tables of a study of KV fetched from host memory: cost of one copy, one request, many requests,
published claims.

A *study* is ``{"rows": [{"label", "block_bytes", "prompt_tokens", "hit_rate", "requests", "fetch_share", "methods": {NAME:
{"fetch_s", "ttft_s": {"mean", "p50", "p90"}, "itl_s", "requests_per_s", ...}}, "speedups": {"latency", "throughput"}}],
"copies": [{"bytes", "per_copy_s": {NAME: s}, "reported_s": {NAME: s}}], "claims": [...]}`` of studies/kv_fetch.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.output.layout import add_row, make_table, stack
from c3sim.output.text import MISSING, figures, percent, size, times

if TYPE_CHECKING:
    from rich.console import Group

Row = Mapping[str, Any]
BASE, BEST = "per_block", "batched"
NOTE = "gather, batched, batched_pl: speedup over per_block; fetch: its share of the time to first token by per_block"


def kv_parts(study: Mapping[str, Any]) -> list[Any]:
    """All that is printed of *study*, what matters most last."""
    one = [row for row in study["rows"] if row["requests"] == 1]
    many = [row for row in study["rows"] if row["requests"] > 1]
    where = f" on {study['node']}" if study.get("node") else ""
    parts = [copy_table(study)]
    parts += [request_table(one, where)] if one else []
    parts += [queue_table(many, where)] if many else []
    return [*parts, _remarks(study)]


def copy_table(study: Mapping[str, Any]) -> Group:
    """A row per block size: what one copy takes by each method, beside what is reported."""
    names = list(study["copies"][0]["per_copy_s"])
    table = make_table(["block"], [f"{name}\n(us)" for name in names])
    for row in study["copies"]:
        cells = []
        for name in names:
            ours, theirs = row["per_copy_s"][name], row["reported_s"].get(name)
            beside = f" / {1e6 * theirs:.1f} ({100 * (ours / theirs - 1):+.0f} %)" if theirs else ""
            cells.append(f"{1e6 * ours:.2f}{beside}")
        add_row(table, size(row["bytes"]), *cells)
    source = (study.get("published") or {}).get("copy_source")
    note = f"simulated / reported: {' '.join(source.split())}" if source else "simulated"
    return stack("one copy from host memory, in a row of many", table, note)


def request_table(rows: Sequence[Row], where: str) -> Group:
    """A row per case of one request: its time to first token by copies one by one, and speedups
    over that.
    """
    names = [name for name in rows[0]["methods"] if name != BASE]
    headers = ["prompt\n(tokens)", "hit\n(%)", "fetch\n(%)", f"TTFT\n{BASE}\n(ms)"]
    table = make_table(["model", "block", "load"], [*headers, *(f"{name}\n(x)" for name in names)])
    for row in rows:
        first = row["methods"][BASE]["ttft_s"]["mean"]
        gains = (f"{row['speedups']['latency'][name]:.2f}" for name in names)
        cells = (
            str(row["prompt_tokens"]),
            percent(row["hit_rate"], 0),
            percent(row["fetch_share"], 0),
        )
        add_row(
            table,
            row["label"],
            size(row["block_bytes"]),
            row["load"],
            *cells,
            figures(1e3 * first),
            *gains,
        )
    return stack(f"one request{where}: time to first token", table, NOTE)


def queue_table(rows: Sequence[Row], where: str) -> Group:
    """A row per case of many requests: throughput, times to first and between tokens, and speedups
    of the throughput.
    """
    names = [name for name in rows[0]["methods"] if name != BASE]
    headers = ["arrivals\n(1/s)", "prompt\n(tokens)", "hit\n(%)", f"served\n{BASE}\n(1/s)"]
    headers += [f"{name}\n(x)" for name in names]
    headers += [f"TTFT p50, p90\n{name}\n(ms)" for name in (BASE, BEST)]
    headers += [f"ITL\n{name}\n(ms)" for name in (BASE, BEST)]
    table = make_table(["model", "block", "load"], headers)
    for row in rows:
        rate = row["arrivals_per_second"]
        cells = ["at once" if rate is None else f"{rate:g}", str(row["prompt_tokens"])]
        cells += [percent(row["hit_rate"], 0), figures(row["methods"][BASE]["requests_per_s"])]
        cells += [f"{row['speedups']['throughput'][name]:.2f}" for name in names]
        for name in (BASE, BEST):
            spread = row["methods"][name]["ttft_s"]
            cells.append(", ".join(figures(1e3 * spread[key], 2) for key in ("p50", "p90")))
        for name in (BASE, BEST):
            gap = row["methods"][name]["itl_s"]
            cells.append(MISSING if gap is None else figures(1e3 * gap["mean"]))
        add_row(table, row["label"], size(row["block_bytes"]), row["load"], *cells)
    explained = "gather, batched, batched_pl: requests per second over those of per_block\nTTFT: time to first token; ITL: between tokens, mean"
    return stack(f"many requests{where}: throughput and latency", table, explained)


def _remarks(study: Mapping[str, Any]) -> Any:
    from rich.text import Text

    lines = [line for claim in study["claims"] for line in _claim(claim)]
    lines += _why(study)
    source = (study.get("published") or {}).get("source")
    lines += (
        [f"published: {source}; set-up not public, so the ratios are compared and not the cases"]
        if source
        else []
    )
    return Text("\n".join(lines))


def _claim(claim: Mapping[str, Any]) -> list[str]:
    """The published words, the largest speedup simulated, and where the published one is reached."""
    if claim["simulated"] is None:
        return []
    reached = len(claim["reached"])
    blocks = ", ".join(size(count) for count in claim["reached_blocks"]) or "no"
    never = [count for count in claim["missed_blocks"] if count not in claim["reached_blocks"]]
    text = (
        f"{claim['of']}: published {claim['text']}; batched DMA over per_block here up to {times(claim['simulated'])}"
        f" ({claim['where']}); {times(claim['low'])} reached in {reached} of {claim['cases']} cases, with {blocks} blocks"
    )
    if never:
        text += f"; never with {', '.join(size(count) for count in never)} blocks"
    return [text]


def _why(study: Mapping[str, Any]) -> list[str]:
    """What bounds the speedups: how much less a copy costs, and what the fetch is of the whole."""
    used = {row["block_bytes"] for row in study["rows"]}
    ratios = [
        f"{times(row['per_copy_s'][BASE] / row['per_copy_s'][BEST])} with {size(row['bytes'])}"
        for row in study["copies"]
        if row["bytes"] in used
    ]
    lines = [
        "why: a batch takes the waiting of one copy for the other away, not the read of host memory and the link, so a"
        f" fetch becomes at most {', '.join(ratios)} blocks faster; the rest of the time to first token stays"
    ]
    saved = [
        found["batched"]["fetch_s"] - found["batched_pl"]["fetch_s"]
        for found in (row["methods"] for row in study["rows"])
        if found["batched"]["fetch_s"]
    ]
    if saved:
        share = max(
            1 - row["methods"]["batched_pl"]["fetch_s"] / row["methods"]["batched"]["fetch_s"]
            for row in study["rows"]
            if row["methods"]["batched"]["fetch_s"]
        )
        lines.append(
            f"prelaunch takes {1e6 * min(saved):.0f} to {1e6 * max(saved):.0f} us off a fetch, {percent(share)} % at most:"
            " what the host takes to submit the batch before its doorbell"
        )
    return lines
