"""Requests to a language model: their arrivals, and the measures of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, quantiles
from typing import Any

from c3sim.inference.kv import hit_tokens
from c3sim.specs.serving import Serving


# no comparison: equal requests are still two
@dataclass(slots=True, eq=False)
class Request:
    """*hit* of its *prompt* tokens are fetched, *output* are generated. Times are in s."""

    arrival: float
    prompt: int
    hit: int
    output: int
    computed: int = 0  # prompt tokens whose KV is in GPU memory
    generated: int = 0
    fetched: float | None = None
    first: float | None = None
    end: float | None = None

    @property
    def done(self) -> bool:
        return self.generated >= self.output


def requests_of(serving: Serving) -> list[Request]:
    """The requests of *serving*, by arrival; exponential gaps from its seed, or all at 0."""
    random, now, requests = Random(serving.seed), 0.0, []
    hit = hit_tokens(serving)
    for _ in range(serving.requests):
        requests.append(Request(now, serving.prompt_tokens, hit, serving.output_tokens))
        if serving.arrivals_per_second is not None:
            now += random.expovariate(serving.arrivals_per_second)
    return requests


def measures(requests: Sequence[Request]) -> dict[str, Any]:
    """Time to first token and between tokens [s]; rates from the first arrival to the last end."""
    firsts, gaps = [], []
    for request in requests:
        assert request.first is not None and request.end is not None  # all were served
        firsts.append(request.first - request.arrival)
        if request.output > 1:
            gaps.append((request.end - request.first) / (request.output - 1))
    wall = max(request.end or 0.0 for request in requests) - requests[0].arrival
    return {
        "ttft_s": _spread(firsts),
        "itl_s": _spread(gaps) if gaps else None,
        "requests_per_s": len(requests) / wall,
        "output_tokens_per_s": sum(request.output for request in requests) / wall,
        "wall_s": wall,
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(values, n=10, method="inclusive") if len(values) > 1 else [values[0]] * 9
    return {"mean": fmean(values), "p50": cuts[4], "p90": cuts[8]}
