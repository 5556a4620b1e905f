"""The time of a step, from simulations of one layer: alone, and with a fetch beside it.

- A step runs all layers on its tokens, then the head. One layer is simulated and counts ``layers``
  times.
- GEMMs and all-reduces depend on the tokens, attention on the bytes and FLOP of the sequences.
  They run one after another in a stream, so their times add up.
- Beside a fetch, a layer runs slower by one factor and the fetch by another. Both come from one
  simulation of the layer with as much of the fetch as fits beside it, at the nearest power of 2 of
  the tokens and of 4 of the attention's bytes and FLOP.
- Prelaunch changes how a fetch begins and not how it goes on, so it shares the factors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from math import ceil, floor, log, prod
from typing import Any

from c3sim.errors import InputError
from c3sim.iterations.inference.kv import HOSTS, Fetch, kv_bytes_per_gpu, workload_of
from c3sim.simulation.runs import run_once
from c3sim.spec.hardware import Node
from c3sim.spec.models import Transformer

MOST_COPIES = 64  # of a fetch that are simulated beside a layer


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests of one step."""

    prompt: int = 0  # tokens of prompts
    context: int = 0  # tokens whose KV is read for prompts
    pairs: float = 0.0  # (token of a prompt, token visible to it)
    sequences: int = 0  # that generate
    history: int = 0  # tokens whose KV is read for the sequences
    heads: int = 0  # tokens whose successor is wanted

    @property
    def tokens(self) -> int:
        return self.prompt + self.sequences


class Steps:
    """Steps of *model* on all GPUs of *node*; no simulation is repeated."""

    def __init__(self, node: Node, model: Transformer, efficiency: float):
        self.node, self.model, self.efficiency = node, model, efficiency
        self.kv = kv_bytes_per_gpu(model, node.gpus)
        self._gemms = Grid(self._gemm_time, 2**0.5, whole=True)
        self._head = Grid(self._head_time, 2**0.5, whole=True)
        self._attention = Grid(self._attention_time)
        #: The fetches beside them, by method, bytes of a block, and workgroups.
        self.fetch = cache(partial(Fetch, node))
        self._beside: dict[tuple[Any, ...], tuple[float, float]] = {}

    def alone(self, batch: Batch) -> float:
        """Seconds of a step that runs *batch*."""
        head = self._head(batch.heads) if batch.heads else 0.0
        return self.model.layers * self.layer(batch) + head

    def layer(self, batch: Batch) -> float:
        """Seconds of one layer of *batch*."""
        if not batch.tokens:
            return 0.0
        time = self._gemms(batch.tokens)
        for read, flops in self._attentions(batch):
            time += self._attention(read, flops)
        return time

    def beside(self, batch: Batch, fetch: Fetch) -> tuple[float, float]:
        """Factors by which a step that runs *batch*, and *fetch*, slow each other."""
        attentions = tuple(
            (snap(read, 4.0), snap(flops, 4.0)) for read, flops in self._attentions(batch)
        )
        tokens = int(snap(batch.tokens, 2.0))
        method = fetch.method.removesuffix("_pl")
        key = (tokens, attentions, method, fetch.block, fetch.workgroups)
        if key not in self._beside:
            self._beside[key] = self._slowdowns(tokens, attentions, fetch)
        return self._beside[key]

    def _attentions(self, batch: Batch) -> list[tuple[float, float]]:
        """Bytes and FLOP per GPU of the attention of prompts, and of sequences that generate.

        A pair of tokens takes 2 FLOP of q k and 2 of p v per element of a query head.
        """
        per_pair = 4.0 * self.model.heads / self.node.gpus * self.model.head_dim
        attentions = []
        if batch.prompt:
            attentions.append((float(batch.context * self.kv), batch.pairs * per_pair))
        if batch.sequences:
            attentions.append((float(batch.history * self.kv), batch.history * per_pair))
        return attentions

    def _gemm_time(self, tokens: float) -> float:
        return self._wall(layer_tasks(self.model, self.node.gpus, int(tokens)))

    def _head_time(self, sequences: float) -> float:
        return self._wall({"head": head_task(self.model, self.node.gpus, int(sequences))})

    def _attention_time(self, read: float, flops: float) -> float:
        return self._wall({"attention": self._attention_task(read, flops)})

    def _attention_task(self, read: float, flops: float) -> dict[str, Any]:
        return attention_task(self.node, self.model, read, flops, self.efficiency)

    def _wall(self, tasks: dict[str, dict[str, Any]]) -> float:
        return run_once(self.node, workload_of(tasks, {})).end

    def _slowdowns(
        self, tokens: int, attentions: tuple[tuple[float, float], ...], fetch: Fetch
    ) -> tuple[float, float]:
        first, *rest = layer_tasks(self.model, self.node.gpus, tokens).items()
        tasks = dict([first])
        for index, (read, flops) in enumerate(attentions):
            tasks[f"attention{index}"] = self._attention_task(read, flops)
        tasks |= dict(rest)
        layer = self._wall(tasks)
        copies = max(1, ceil(layer / fetch.per_copy))
        if not fetch.on_compute_units:
            copies = min(MOST_COPIES, copies)
        alone = fetch.alone(copies)
        # queued: the kernel runs on from the layer before
        host = {**HOSTS[fetch.method], "launch": "queued"}
        run = run_once(self.node, workload_of({"fetch": fetch.task(copies), **tasks}, host))
        fetched = run.task("fetch").end
        computed = max(run.task(name).end for name in tasks)
        concurrent = min(fetched, computed)
        return slowdown(concurrent, layer, computed), slowdown(concurrent, alone, fetched)


def slowdown(concurrent: float, alone: float, time: float) -> float:
    """The slowdown of something for *concurrent* s: it takes *time* s in all, *alone* s by itself,
    and after *concurrent* s goes on at its own pace.
    """
    done = alone - (time - concurrent)
    return max(1.0, concurrent / done) if done > 0 else 1.0


# One layer of a model as tasks of a workload, on each of the GPUs that share it.
#
# With t GPUs (tensor parallel), h heads and g kv heads of width d, hidden width H, inner width F
# and M tokens:
#
#     qkv      M x ((h + 2 g) d / t) x H          o     M x H x (h d / t)
#     gate_up  M x (2 F / t) x H                  down  M x H x (F / t)
#
# and, where t > 1, an all-reduce of M H numbers after o and after down. Of E experts with k per
# token, M tokens that choose independently are expected to reach a = E (1 - (1 - k/E)^M). The
# network is then a batched GEMMs of M k / a rows, behind a router of E columns. Norms, rotary
# embedding and activation functions are left out (they fuse with others). Where experts are dealt
# to x GPUs, one has E / x of them, and M k tokens from all GPUs.

Task = dict[str, Any]
STREAM = "compute"


def active_experts(model: Transformer, tokens: int) -> int:
    """Experts that *tokens* tokens are expected to reach, of those of one layer."""
    missed = (1 - model.experts_per_token / model.experts) ** tokens
    return max(1, min(model.experts, round(model.experts * (1 - missed))))


def layer_tasks(model: Transformer, tensor_parallel: int, tokens: int) -> dict[str, Task]:
    """GEMMs and all-reduces of one layer for *tokens* tokens, in order, without attention."""
    tasks: dict[str, Task] = {}
    sums = {"o": "reduce_attention", "down": "reduce_network"} if tensor_parallel > 1 else {}
    for name, gemm in layer_gemms(model, tensor_parallel, tokens).items():
        tasks[name] = gemm
        if name in sums:
            tasks[sums[name]] = _reduce(model, tokens)
    return tasks


def layer_gemms(
    model: Transformer, tensor_parallel: int, tokens: int, expert_parallel: int = 1
) -> dict[str, Task]:
    """The GEMMs of one layer for *tokens* tokens, in order."""
    share = tensor_parallel
    queries = _part(model.heads, share, "heads", model) * model.head_dim
    kv_heads = max(1, model.kv_heads // share)
    inner = _part(model.ffn, share, "ffn", model)
    gemms = {
        "qkv": _gemm(model, tokens, queries + 2 * kv_heads * model.head_dim, model.hidden),
        "o": _gemm(model, tokens, model.hidden, queries),
    }
    rows, batch = tokens, 1
    if model.experts > 1:
        batch = active_experts(model, tokens * expert_parallel) // expert_parallel or 1
        rows = ceil(tokens * model.experts_per_token / batch)
        gemms["router"] = _gemm(model, tokens, model.experts, model.hidden)
    gemms["gate_up"] = _gemm(model, rows, (2 if model.gated else 1) * inner, model.hidden, batch)
    gemms["down"] = _gemm(model, rows, model.hidden, inner, batch)
    return gemms


def head_task(model: Transformer, tensor_parallel: int, sequences: int) -> Task:
    """The output head for the last token of each of *sequences* sequences."""
    return _gemm(model, sequences, ceil(model.vocab / tensor_parallel), model.hidden)


def attention_task(
    node: Node, model: Transformer, read: float, flops: float, efficiency: float
) -> Task:
    """Attention as a stream kernel that reads *read* bytes of keys and values and works *flops*.

    The matrix units do the work at *efficiency* of their peak. A stream kernel counts FLOP of the
    vector units, so it gets as many of these as take equally long. Raises InputError if the node
    has no rate of either.
    """
    rates = node.gpu.compute_units.flops_per_cycle
    if "fp32" not in rates or model.dtype not in rates:
        raise InputError(
            f"{node.gpu.name} has no flops_per_cycle of fp32 and {model.dtype}; "
            "attention needs both"
        )
    vector_flops = flops * rates["fp32"] / (efficiency * rates[model.dtype])
    return {
        "kind": "stream",
        "stream": STREAM,
        "pattern": "read",
        "bytes": max(1.0, read),
        "flops_per_byte": vector_flops / max(1.0, read),
    }


def _part(count: int, share: int, what: str, model: Transformer) -> int:
    if count % share:
        raise InputError(
            f"{count} {what} of {model.name} do not divide by {share} GPUs",
            "serving.tensor_parallel",
        )
    return count // share


def _gemm(model: Transformer, m: int, n: int, k: int, batch: int = 1) -> Task:
    sizes = {"m": m, "n": n, "k": k, "batch": batch}
    return {"kind": "gemm", "stream": STREAM, **sizes, "dtype": model.dtype}


def _reduce(model: Transformer, tokens: int) -> Task:
    return {
        "kind": "collective",
        "stream": STREAM,
        "op": "all_reduce",
        "dtype": model.dtype,
        "size": float(tokens * model.hidden * model.element),
    }


# Functions that cost a simulation: each grid point is evaluated once, the rest interpolated.


class Grid:
    """*function*, linear between the points *ratio*^i of each argument (rounded if *whole*).

    Times of kernels are nearly linear in bytes, FLOP and, between the steps of a staircase, tokens,
    so that linear interpolation is exact where it matters. An argument 0 is a point of its own.
    """

    def __init__(self, function: Callable[..., float], ratio: float = 2.0, *, whole: bool = False):
        self.ratio, self.whole = ratio, whole
        self._evaluate = cache(function)

    def __call__(self, *arguments: float) -> float:
        axes = [self._around(argument) for argument in arguments]
        total = 0.0
        for corner in product(*axes):
            weight = prod(part for _, part in corner)
            if weight:
                total += weight * self._evaluate(*(point for point, _ in corner))
        return total

    def _around(self, value: float) -> list[tuple[float, float]]:
        """The neighbours of *value* on the grid with their weights."""
        if value <= 0:
            return [(0.0, 1.0)]
        step = floor(log(value, self.ratio) + 1e-9)
        low, high = self._point(step), self._point(step + 1)
        if low == high or value <= low:
            return [(low, 1.0)]
        above = min(1.0, (value - low) / (high - low))
        return [(low, 1.0 - above), (high, above)]

    def _point(self, step: int) -> float:
        value = self.ratio**step
        return float(max(1, round(value))) if self.whole else value


def snap(value: float, ratio: float) -> float:
    """The power of *ratio* nearest to *value*; 0 stays 0."""
    return 0.0 if value <= 0 else ratio ** round(log(value, ratio))
