"""KV fetched from host memory by four methods: latency and throughput of serving, and what one copy
costs.

Speedups are over ``per_block``, copies submitted one by one: of the latency (mean time to first token) and of the
throughput (requests per second).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from c3sim.inference.scheduler import serve
from c3sim.inference.fetch import METHODS, Fetch
from c3sim.inference.kv import block_bytes, copies_of, node_of
from c3sim.inference.requests import measures
from c3sim.inference.steps import Steps
from c3sim.specs.hardware import Node
from c3sim.studies.rows import Progress
from c3sim.studies.serving_cases import ServingCase

BASE = "per_block"
BATCHED = ("batched", "batched_pl")
SHOWN = (
    "model",
    "tensor_parallel",
    "layout",
    "load",
    "prompt_tokens",
    "output_tokens",
    "hit_rate",
    "requests",
    "arrivals_per_second",
)
COPY_METHODS = {"loop": "per_block", "batch": "batched"}


def kv_study(
    cases: Sequence[ServingCase], published: Mapping[str, Any], progress: Progress | None = None
) -> dict[str, Any]:
    """``rows`` (a case each), ``copies`` (isolated cost of one copy by block size) and ``claims``
    (published, simulated).
    """
    known = _Known()
    rows = []
    for case in cases:
        rows.append(_row(case, known))
        if progress is not None:
            progress("serving", len(rows), len(cases))
    sizes = {row["block_bytes"] for row in rows} | {
        row["bytes"] for row in published.get("copy_costs", ())
    }
    one = cases[0].node.model_copy(update={"gpus": 1})
    workgroups = cases[0].serving.gather_workgroups
    return {
        "rows": rows,
        "copies": [
            _copy(one, size, workgroups, published.get("copy_costs", ())) for size in sorted(sizes)
        ],
        "claims": [_claim(rows, claim) for claim in published.get("claims", ())],
    }


class _Known:
    """Steps and fetches that several cases share, with what they have simulated."""

    def __init__(self) -> None:
        self._steps: dict[tuple[int, int, str, float], Steps] = {}
        self._fetches: dict[tuple[int, str, int, int], Fetch] = {}

    def steps(self, case: ServingCase) -> Steps:
        serving = case.serving
        key = (id(case.node), serving.tensor_parallel, serving.model, serving.attention_efficiency)
        if key not in self._steps:
            cut = node_of(case.node, serving)
            self._steps[key] = Steps(cut, case.model, serving.attention_efficiency)
        return self._steps[key]

    def fetch(self, node: Node, method: str, block: int, workgroups: int) -> Fetch:
        key = (id(node), method, block, workgroups)
        if key not in self._fetches:
            self._fetches[key] = Fetch(node, method, block, workgroups)
        return self._fetches[key]


def _row(case: ServingCase, known: _Known) -> dict[str, Any]:
    serving, steps = case.serving, known.steps(case)
    block, copies = block_bytes(case.model, serving), copies_of(case.model, serving)
    methods = {}
    for method in METHODS:
        fetch = known.fetch(steps.node, method, block, serving.gather_workgroups)
        methods[method] = {"fetch_s": fetch.alone(copies), **measures(serve(serving, steps, fetch))}
    base = methods[BASE]
    return {
        "scenario": case.name,
        "label": case.label or _label(case),
        **{name: getattr(serving, name) for name in SHOWN},
        "block_bytes": block,
        "copies": copies,
        "fetched_bytes": block * copies,
        "methods": methods,
        "fetch_share": base["fetch_s"] / base["ttft_s"]["mean"] if serving.requests == 1 else None,
        "speedups": {
            "latency": {
                name: base["ttft_s"]["mean"] / found["ttft_s"]["mean"]
                for name, found in methods.items()
            },
            "throughput": {
                name: found["requests_per_s"] / base["requests_per_s"]
                for name, found in methods.items()
            },
        },
    }


def _label(case: ServingCase) -> str:
    share = case.serving.tensor_parallel
    return case.model.name + (f" on {share}" if share > 1 else "")


def _copy(
    node: Node, size: int, workgroups: int, known: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What one block of *size* bytes takes in a long fetch, by each method, beside what is
    reported.
    """
    costs = {method: Fetch(node, method, size, workgroups).per_copy for method in METHODS}
    reported = {
        COPY_METHODS[entry["how"]]: entry["time_us"] * 1e-6
        for entry in known
        if entry["bytes"] == size
    }
    return {"bytes": size, "per_copy_s": costs, "reported_s": reported}


def _claim(rows: Sequence[Mapping[str, Any]], claim: Mapping[str, Any]) -> dict[str, Any]:
    """A published speedup beside the largest one of batched copies in the rows it is about, and
    where it is reached.
    """
    about = [row for row in rows if (row["requests"] == 1) == (claim["of"] == "latency")]
    reached = [row for row in about if _best(row, claim["of"]) >= claim["low"]]
    top = max(about, key=lambda row: _best(row, claim["of"]), default=None)
    return {
        **claim,
        "simulated": None if top is None else _best(top, claim["of"]),
        "where": None if top is None else top["scenario"],
        "cases": len(about),
        "reached": [row["scenario"] for row in reached],
        "reached_blocks": sorted({row["block_bytes"] for row in reached}),
        "missed_blocks": sorted({row["block_bytes"] for row in about if row not in reached}),
    }


def _best(row: Mapping[str, Any], of: str) -> float:
    return max(float(row["speedups"][of][name]) for name in BATCHED)
