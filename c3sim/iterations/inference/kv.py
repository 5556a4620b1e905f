"""Sizes of the key and value cache (KV): blocks of a request, bytes of a copy, tokens in memory."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import ceil
from typing import Any

from c3sim.errors import InputError
from c3sim.simulation.runs import run_once
from c3sim.spec.hardware import Node
from c3sim.spec.models import Transformer
from c3sim.spec.reading.loading import parse_workload
from c3sim.spec.study import Serving
from c3sim.spec.task import DTYPE_BYTES, Dtype
from c3sim.spec.workload import Workload

GIB = 2.0**30


def node_of(node: Node, serving: Serving) -> Node:
    """*node* cut to the GPUs that share a model. Raises InputError if it has fewer."""
    if serving.tensor_parallel > node.gpus:
        raise InputError(
            f"got {serving.tensor_parallel}; must be at most {node.gpus}, the GPUs of {node.name}",
            "serving.tensor_parallel",
        )
    return node.model_copy(update={"gpus": serving.tensor_parallel})


def kv_bytes_per_gpu(model: Transformer, tensor_parallel: int) -> int:
    """Bytes of one token in one layer on one GPU."""
    return model.kv_numbers_of(tensor_parallel) * model.element


def block_bytes(model: Transformer, serving: Serving) -> int:
    """Bytes that one copy moves on each GPU: a block of one layer, or of all (contiguous)."""
    layers = model.layers if serving.layout == "contiguous" else 1
    return serving.block_tokens * kv_bytes_per_gpu(model, serving.tensor_parallel) * layers


def hit_tokens(serving: Serving) -> int:
    """Tokens of a prompt that are fetched: whole blocks, without the last token, which must run."""
    block = serving.block_tokens
    wanted = int(serving.prompt_tokens * serving.hit_rate + 1e-9) // block * block
    return min(wanted, (serving.prompt_tokens - 1) // block * block)


def copies_of(model: Transformer, serving: Serving) -> int:
    """Copies per GPU that fetch one request; of layers with a window, that is all that is fetched,
    unless a block holds all layers.
    """
    hit = hit_tokens(serving)
    if serving.layout == "contiguous":
        return ceil(hit / serving.block_tokens)
    kept = kept_tokens(model, hit)
    return sum(ceil(tokens / serving.block_tokens) * layers for tokens, layers in kept.items())


def kept_tokens(model: Transformer, tokens: int) -> Counter[int]:
    """Tokens of *tokens* that a layer keeps -> how many layers do; a window is all that one with a
    window does.
    """
    windows = (model.kind_of(index).window for index in range(model.layers))
    return Counter(min(tokens, window or tokens) for window in windows)


def weight_bytes(model: Transformer, precision: Dtype | None) -> int:
    """Bytes of all weights, of products in layers in numbers of *precision*; left out: as all."""
    less = model.element - DTYPE_BYTES[precision or model.dtype]
    return model.weight_bytes - less * model.layer_weights


def token_room(node: Node, model: Transformer, serving: Serving) -> int:
    """Tokens whose KV fits beside the weights, as many of each layer as requests keep there. Raises
    InputError if not even one request does.
    """
    share, precision = serving.tensor_parallel, serving.precision
    weights = weight_bytes(model, precision)
    free = node.gpu.hbm.capacity * serving.memory_share - weights / share
    longest = serving.prompt_tokens + serving.output_tokens
    kept = kept_tokens(model, longest)
    numbers = sum(tokens * layers for tokens, layers in kept.items())
    room = int(free / (kv_bytes_per_gpu(model, share) * numbers / longest))
    if free < 0:
        raise InputError(
            f"the weights of {model.name} take {weights / share / GIB:.0f} GiB of each of {share} "
            f"GPUs; {node.name} has {node.gpu.hbm.capacity * serving.memory_share / GIB:.0f} "
            f"(memory_share {serving.memory_share:g}); more GPUs, or serving.precision=fp8",
            "serving.tensor_parallel",
        )
    if room < longest:
        raise InputError(
            f"{model.name} on {share} GPU of {node.name} leaves room for {room} tokens; a request "
            f"has {longest}",
            "serving.tensor_parallel",
        )
    return room


def pairs_seen(tokens: int, context: int, window: int | None) -> float:
    """Pairs of *tokens* new tokens and those that each sees: itself, and all before it, *context*
    before all among them; at most *window* of them.
    """
    if window is None or window >= context + tokens:
        return tokens * context + tokens * (tokens + 1) / 2
    growing = max(0, min(tokens, window - context))  # tokens that see all before them
    return growing * context + growing * (growing + 1) / 2 + (tokens - growing) * window


# KV blocks from host memory: four methods as tasks, and the time of a fetch alone.
#
# ==========  ===================================================================================
# per_block   a copy command per block, each submitted after the end of the one before
# gather      one kernel on compute units that reads all blocks over the host link
# batched     all copies in one batch: one doorbell, no waiting between them
# batched_pl  the same, prelaunched: in the queue behind a poll, which a store releases
# ==========  ===================================================================================


METHODS = ("per_block", "gather", "batched", "batched_pl")
SAMPLES = (32, 96)  # numbers of copies simulated; the time of more is on the line through both
HOSTS: dict[str, dict[str, Any]] = {
    "per_block": {"submission": "one_by_one"},
    "gather": {"launch": "eager"},
    "batched": {"submission": "batch"},
    "batched_pl": {"submission": "batch", "prelaunched": True},
}


def workload_of(tasks: dict[str, dict[str, Any]], host: dict[str, Any]) -> Workload:
    """*tasks* as a workload; sizes are plain bytes."""
    return parse_workload(
        {"schema": 1, "name": "inference", "tasks": tasks, "host": host}, plain_si=True
    )


class Fetch:
    """Fetches of blocks of *block* bytes by *method* into every GPU of *node* at once."""

    def __init__(self, node: Node, method: str, block: int, workgroups: int):
        self.node, self.method, self.block, self.workgroups = node, method, block, workgroups
        self._simulated = cache(self._simulate)

    @property
    def on_compute_units(self) -> bool:
        return self.method == "gather"

    @property
    def prelaunched(self) -> bool:
        return bool(HOSTS[self.method].get("prelaunched", False))

    def task(self, copies: int) -> dict[str, Any]:
        """*copies* blocks as one task; all GPUs fetch."""
        copy = {"kind": "copy", "source": "host", "destination": "gpu", "gpus": "all"}
        if self.on_compute_units:
            kernel = {"executor": "kernel", "workgroups": self.workgroups}
            return {**copy, **kernel, "bytes": float(copies * self.block)}
        return {**copy, "bytes": float(self.block), "repeat": copies}

    def alone(self, copies: int) -> float:
        """Seconds from the first submission to the end of the last of *copies* blocks."""
        if not copies:
            return 0.0
        few, many = SAMPLES
        if self.on_compute_units or copies <= many:
            return self._simulated(copies)
        return self._simulated(few) + (copies - few) * self.per_copy

    @property
    def per_copy(self) -> float:
        """Seconds per block in a long fetch."""
        few, many = SAMPLES
        return (self._simulated(many) - self._simulated(few)) / (many - few)

    def host_time(self, copies: int) -> float:
        """Seconds that the submitting thread is busy; prelaunched: 0, it was busy before."""
        host = self.node.host
        if not copies or self.prelaunched:
            return 0.0
        if self.method == "per_block":
            return copies * host.copy_time
        if self.method == "gather":
            return host.launch_time
        return host.batch_time + (copies + 1) * host.batch_copy_time + host.doorbell_time

    def _simulate(self, copies: int) -> float:
        workload = workload_of({"fetch": self.task(copies)}, HOSTS[self.method])
        return run_once(self.node, workload).end
