"""One layer of a model as tasks of a workload, on each of the GPUs that share it.

With t GPUs (tensor parallel), h heads and g kv heads of width d, hidden width H, inner width F and
M tokens:

    qkv      M x ((h + 2 g) d / t) x H          o     M x H x (h d / t)
    gate_up  M x (2 F / t) x H                  down  M x H x (F / t)

and, where t > 1, an all-reduce of M H numbers after o and after down. Of E experts with k per
token, M tokens that choose independently are expected to reach a = E (1 - (1 - k/E)^M). The network
is then a batched GEMMs of M k / a rows, behind a router of E columns. Norms, rotary embedding and
activation functions are left out (they fuse with others). Where experts are dealt to x GPUs, one
has E / x of them, and M k tokens from all GPUs.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from c3sim.errors import InputError
from c3sim.specs.hardware import Node
from c3sim.specs.transformer import Transformer

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
