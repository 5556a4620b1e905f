"""Sizes of the key and value cache (KV): blocks of a request, bytes of a copy, tokens in memory."""

from __future__ import annotations

from math import ceil

from c3sim.errors import InputError
from c3sim.specs.hardware import Node
from c3sim.specs.serving import Serving
from c3sim.specs.transformer import Transformer


def node_of(node: Node, serving: Serving) -> Node:
    """*node* cut to the GPUs that share a model. Raises InputError if it has fewer."""
    if serving.tensor_parallel > node.gpus:
        raise InputError(
            f"got {serving.tensor_parallel}; must be at most {node.gpus}, the GPUs of {node.name}",
            "serving.tensor_parallel",
        )
    return node.model_copy(update={"gpus": serving.tensor_parallel})


def kv_bytes_per_gpu(model: Transformer, tensor_parallel: int) -> int:
    """Bytes of one token in one layer on one GPU; GPUs share kv heads where there are too few."""
    return model.kv_bytes // model.kv_heads * max(1, model.kv_heads // tensor_parallel)


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
    """Copies per GPU that fetch one request."""
    blocks = ceil(hit_tokens(serving) / serving.block_tokens)
    return blocks * (1 if serving.layout == "contiguous" else model.layers)


def token_room(node: Node, model: Transformer, serving: Serving) -> int:
    """Tokens whose KV fits beside the weights. Raises InputError if not even one request does."""
    share = serving.tensor_parallel
    free = node.gpu.hbm.capacity * serving.memory_share - model.weight_bytes / share
    room = int(free / (kv_bytes_per_gpu(model, share) * model.layers))
    longest = serving.prompt_tokens + serving.output_tokens
    if room < longest:
        raise InputError(
            f"{model.name} on {share} GPU of {node.name} leaves room for {max(0, room)} tokens; "
            f"a request has {longest}",
            "serving.tensor_parallel",
        )
    return room
