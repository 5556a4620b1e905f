"""A study of kind ``kv_fetch``: keys and values fetched from host memory by four methods, and what
one copy costs.

Speedups are over ``per_block``, copies submitted one by one: of the latency (mean time to first
token) and of the throughput (requests per second).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from c3sim.evaluation.effort import Effort
from c3sim.inference.kv import METHODS, Fetch, block_bytes, copies_of, node_of
from c3sim.inference.scheduler import measures, serve
from c3sim.inference.steps import Steps
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.studies.kind import About, Options, StudyResult, published_for
from c3sim.studies.kv_fetch.cases import ServingCase, serving_cases
from c3sim.studies.kv_fetch.effort import effort_of_serving
from c3sim.studies.plain import KEY

BASE = "per_block"
#: What a row shows of the serving of its case.
SHOWN = {"model", "tensor_parallel", "layout", "load", "prompt_tokens", "output_tokens"}
SHOWN |= {"hit_rate", "requests", "arrivals_per_second"}
BATCHED = ("batched", "batched_pl")
#: How published costs of copies name a method.
METHOD_OF = {"loop": "per_block", "batch": "batched"}
Key = tuple[str, int, str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Of a time [s] over the requests."""

    mean: float
    p50: float
    p90: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """All requests of a case by one method: the fetch of one alone, times to first token (*ttft_s*)
    and between tokens (*itl_s*, None for one token), what was served per second.
    """

    fetch_s: float
    ttft_s: Spread
    itl_s: Spread | None
    requests_per_s: float
    output_tokens_per_s: float
    wall_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One case. *fetch_share*: of the fetch in the time to first token by ``per_block``, known for
    one request. *speedups*: of ``latency`` and ``throughput`` over ``per_block``, by method.
    """

    scenario: str
    label: str
    model: str
    tensor_parallel: int
    layout: str
    load: str
    prompt_tokens: int
    output_tokens: int
    hit_rate: float
    requests: int
    arrivals_per_second: float | None
    block_bytes: int
    copies: int
    fetched_bytes: int
    methods: Mapping[str, Served]
    fetch_share: float | None
    speedups: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyCost:
    """Time [s] of one block in a long fetch, by method, beside what is reported."""

    size_bytes: int = field(metadata={KEY: "bytes"})
    per_copy_s: Mapping[str, float]
    reported_s: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A published speedup *of* latency or throughput, from *low* to *high*, beside the largest one
    of batched copies; and by which cases and blocks *low* is reached.
    """

    of: str
    low: float
    high: float
    text: str
    simulated: float | None
    where: str | None
    cases: int
    reached: Sequence[str]
    reached_blocks: Sequence[int]
    missed_blocks: Sequence[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class KvFetchResult(StudyResult):
    """*rows*, one per case; *copies*, one per block size. Published figures, and what is compared
    with them, are of the study's own node only.
    """

    rows: Sequence[Row]
    copies: Sequence[CopyCost]
    claims: Sequence[Claim]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> KvFetchResult:
    """All cases of *study* by all methods. Raises InputError."""
    cases = serving_cases(study, options.node)
    options.ask(Effort.mean(effort_of_serving(case.serving) for case in cases), len(cases), jobs=1)
    node = cases[0].node
    published = published_for(study, node)
    reported = published.get("copy_costs", ())
    shared: dict[Key, Steps] = {}
    rows: list[Row] = []
    for case in cases:
        rows.append(_row(case, _steps(case, shared)))
        options.report("serving", len(rows), len(cases))
    sizes = {row.block_bytes for row in rows} | {entry["bytes"] for entry in reported}
    one = node.model_copy(update={"gpus": 1})
    workgroups = cases[0].serving.gather_workgroups
    return KvFetchResult(
        about=About.of(study, node),
        rows=rows,
        copies=[_copy_cost(one, size, workgroups, reported) for size in sorted(sizes)],
        claims=[_claim(rows, claim) for claim in published.get("claims", ())],
        published=published,
    )


def _steps(case: ServingCase, shared: dict[Key, Steps]) -> Steps:
    """The steps of *case*, *shared* with the cases of the same node and model.

    They keep what they have simulated. Nodes of the same text are the same.
    """
    serving, text = case.serving, case.node.model_dump_json()
    key = (text, serving.tensor_parallel, serving.model, serving.attention_efficiency)
    if key not in shared:
        cut = node_of(case.node, serving)
        shared[key] = Steps(cut, case.model, serving.attention_efficiency)
    return shared[key]


def _row(case: ServingCase, steps: Steps) -> Row:
    serving = case.serving
    block, copies = block_bytes(case.model, serving), copies_of(case.model, serving)
    methods = {
        method: _served(case, steps, steps.fetch(method, block, serving.gather_workgroups), copies)
        for method in METHODS
    }
    base = methods[BASE]
    share = serving.tensor_parallel
    return Row(
        scenario=case.name,
        label=case.label or case.model.name + (f" on {share}" if share > 1 else ""),
        **serving.model_dump(include=SHOWN),
        block_bytes=block,
        copies=copies,
        fetched_bytes=block * copies,
        methods=methods,
        fetch_share=base.fetch_s / base.ttft_s.mean if serving.requests == 1 else None,
        speedups={
            "latency": {name: base.ttft_s.mean / run.ttft_s.mean for name, run in methods.items()},
            "throughput": {
                name: run.requests_per_s / base.requests_per_s for name, run in methods.items()
            },
        },
    )


def _served(case: ServingCase, steps: Steps, fetch: Fetch, copies: int) -> Served:
    alone = fetch.alone(copies)
    measured = measures(serve(case.serving, steps, fetch))
    for name in ("ttft_s", "itl_s"):
        measured[name] = measured[name] and Spread(**measured[name])
    return Served(fetch_s=alone, **measured)


def _copy_cost(
    node: Node, size: int, workgroups: int, reported: Sequence[Mapping[str, Any]]
) -> CopyCost:
    return CopyCost(
        size_bytes=size,
        per_copy_s={method: Fetch(node, method, size, workgroups).per_copy for method in METHODS},
        reported_s={
            METHOD_OF[entry["how"]]: entry["time_us"] * 1e-6
            for entry in reported
            if entry["bytes"] == size
        },
    )


def _claim(rows: Sequence[Row], published: Mapping[str, Any]) -> Claim:
    """*published* beside the rows that it is about: of latency one request, else many."""
    measure, low = published["of"], published["low"]
    about = [row for row in rows if (row.requests == 1) == (measure == "latency")]
    reached = [row for row in about if _best(row, measure) >= low]
    missed = [row for row in about if _best(row, measure) < low]
    top = max(about, key=lambda row: _best(row, measure), default=None)
    return Claim(
        of=measure,
        low=low,
        high=published["high"],
        text=published["text"],
        simulated=None if top is None else _best(top, measure),
        where=None if top is None else top.scenario,
        cases=len(about),
        reached=[row.scenario for row in reached],
        reached_blocks=sorted({row.block_bytes for row in reached}),
        missed_blocks=sorted({row.block_bytes for row in missed}),
    )


def _best(row: Row, measure: str) -> float:
    return max(row.speedups[measure][name] for name in BATCHED)
