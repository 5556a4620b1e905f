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

from dataclasses import dataclass
from functools import cache, partial
from math import ceil
from typing import Any

from c3sim.inference.fetch import HOSTS, Fetch, workload_of
from c3sim.inference.grids import Grid, snap
from c3sim.inference.kv import kv_bytes_per_gpu
from c3sim.inference.layers import attention_task, head_task, layer_tasks
from c3sim.simulation.runs import run_once
from c3sim.specs.hardware import Node
from c3sim.specs.transformer import Transformer

MOST_COPIES = 64  # of a fetch that are simulated beside a layer


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step runs."""

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
    """How much slower something goes for *concurrent* s: it takes *time* s in all, *alone* s by
    itself, and after *concurrent* s goes on at its own pace.
    """
    done = alone - (time - concurrent)
    return max(1.0, concurrent / done) if done > 0 else 1.0
