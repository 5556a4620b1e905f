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
from c3sim.experiments import serving
from c3sim.experiments.claims import Claim
from c3sim.experiments.serving import BASE, BATCHED, ServingCase
from c3sim.experiments.study import Asked, Row, StudyResult
from c3sim.kit.grid import Table
from c3sim.kit.panels import Panel, panel
from c3sim.kit.text import short, size, times
from c3sim.spec.study import Study

#: Columns of a case, then those of the tables: a figure by method, and the gains.
CASE = [
    *("label as model", "block_bytes size as block", "load", "prompt_tokens as prompt"),
    "hit_rate %0 as hit",
]
FIRST = {"time to first token": ["methods.*.ttft_s.mean ms"]}
GAIN, GAINS = "times per_block", [f"speedups.{{}}.{name} x" for name in ("gather", *BATCHED)]
OF_ONE = FIRST | {GAIN: ["fetch_share %0 as fetch", *(each.format("latency") for each in GAINS)]}
OF_MANY = {
    "requests served a second": ["methods.*.requests_per_s 1/s"],
    f"throughput, {GAIN}": [each.format("throughput") for each in GAINS],
    **FIRST,
    "time between tokens (ITL)": ["methods.*.itl_s.mean ms"],
}
WORTH = 10_000  # cases of one node and model share what they have simulated


def cases(asked: Asked) -> list[ServingCase]:
    return serving.serving_cases(asked.study, asked.options.node)


def effort(asked: Asked, cases: Sequence[ServingCase]) -> tuple[Effort, int]:
    return Effort.mean(serving.effort_of_serving(case.serving) for case in cases), len(cases)


def row(case: ServingCase, _: Study) -> Row:
    return serving.row_of(case)


def reduce(asked: Asked, cases: Sequence[ServingCase], rows: list[Row]) -> Mapping[str, Any]:
    serving.forget()
    node = cases[0].node
    published = asked.published(node)
    reported = published.get("copy_costs", ())
    sizes = {row.block_bytes for row in rows} | {entry["bytes"] for entry in reported}
    one = node.changed(gpus=1)
    cost = partial(serving.copy_cost, one, cases[0].serving.gather_workgroups, reported)
    return {
        "rows": rows,
        "copies": [cost(size) for size in sorted(sizes)],
        "claims": [serving.best_beside(rows, claim) for claim in published.get("claims", ())],
        "published": published,
        "left_out": sorted({each for case in cases for each in _left_out(case)}),
    }


def _left_out(case: ServingCase) -> list[str]:
    """What of the model is not counted."""
    return [f"{case.model.name}: {each}" for each in case.model.left_out]


def tables(found: StudyResult) -> list[Table | str]:
    case = CASE if len({row.load for row in found.rows}) > 1 else [c for c in CASE if c != "load"]
    notes = "\n".join(f"note: {note}" for note in found.left_out)
    parts: list[Table | str] = []
    for one in (True, False):
        rows = [row for row in found.rows if (row.requests == 1) == one]
        for title, of in _by_arrivals(rows).items():
            for what, columns in (OF_ONE if one else OF_MANY).items():
                own = notes if not parts else ""
                parts.append(Table(f"{title} on {found.node}: {what}", of, [*case, *columns], own))
    return [*parts, _copies(found), "\n".join([*map(_reached, found.claims), *_why(found)])]


def _copies(found: StudyResult) -> Table:
    """Costs of one copy beside the reported ones."""
    source = found.published.get("copy_source")
    note = f"reported: {' '.join(source.split())}" if source else ""
    columns = ["bytes size as block", "per_copy_s.* us", "reported_s.* us as reported *"]
    return Table("one copy from host memory, in a row of many", found.copies, columns, note)


def _by_arrivals(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """*rows* by what comes when, in words."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        rate = row.arrivals_per_second
        many = "a full queue" if rate is None else f"{short(rate)} requests a second"
        groups.setdefault("one request" if row.requests == 1 else many, []).append(row)
    return groups


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
    gains = [f"{_gain(row)} with {size(row.bytes)}" for row in found.copies if row.bytes in used]
    yield (
        "why: a batch takes the waiting of one copy for the other away, not the read of host memory"
        f" and the link, so a fetch becomes at most {', '.join(gains)} blocks faster; the rest of"
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


def _gain(copy: Row) -> str:
    """A copy of a block one by one over one in a batch."""
    return times(copy.per_copy_s[BASE] / copy.per_copy_s["batched"])


def claims(found: StudyResult) -> Iterator[Claim]:
    gains = {copy.bytes: _gain(copy) for copy in found.copies}
    blocks = {row.scenario: row.block_bytes for row in found.rows}
    for each in found.claims:
        what, more = f"{each.of}: {each.text}; here at most", dict[str, Any]()
        if each.where is not None:
            block = blocks[each.where]
            more["decides"] = f"{each.where}: a copy of {size(block)} in a batch, {gains[block]}"
        yield Claim(what=what, ours=each.simulated, low=each.low, high=each.high, **more)


def panels(found: StudyResult) -> list[Panel]:
    """Costs of one copy by block, and speedups by hit rate: of the batch with prelaunch."""
    title, known = "One copy from host memory, in a row of many", "reported_s.* us"
    columns = ("bytes size", "per_copy_s.* us")
    drawn = [panel(title, found.copies, *columns, known=known, log=True)]
    for measure, many in (("latency", False), ("throughput", True)):
        rows = [row for row in found.rows if (row.requests > 1) == many]
        lines: dict[float, dict[str, float]] = {row.hit_rate: {} for row in rows}
        for row in rows:
            name = f"{row.label}, {size(row.block_bytes)}, {row.prompt_tokens}"
            lines[row.hit_rate][name] = row.speedups[measure]["batched_pl"]
        hits = [{"hit": f"{rate:.0%}", "gain": lines[rate]} for rate in sorted(lines)]
        levels = {f"published {c.text}": c.high for c in found.claims if c.of == measure}
        title = f"{measure}: batched_pl over per_block, by hit rate"
        drawn += [panel(title, hits, "hit", "gain.* x", levels=levels)] if rows else []
    return drawn
