"""Bytes that a GPU needs for an iteration.

    weights       parameters x e, in shards under fsdp, beside what is gathered (a layer, or a
                  piece of it, and those ahead) and the root
    gradients     as many, in training
    optimizer     two moments each (AdamW, LAMB); with master weights in 4 bytes, beside the weights
    activations   what forward operators write and the backward pass reads, all layers; with
                  checkpointing the inputs of all layers and the inside of one
    logits        three tensors of 4 byte numbers, where there is a loss
    keys, values  of all tokens, or of a window, or their latent vectors, where tokens are generated

What allocators and libraries need beside that is not counted.
"""

from __future__ import annotations

from c3sim.iterations.build import Plan
from c3sim.iterations.optimizers import MASTER
from c3sim.iterations.steps import Op
from c3sim.iterations.units import Unit
from c3sim.spec.models import Dlrm

MOMENTS = 2


def memory_bytes(planned: Plan) -> float:
    """Bytes on the GPU that needs most."""
    iteration, units = planned.iteration, planned.units()
    size = planned.operators.element
    training = iteration.phase == "training"
    own = max(size, MASTER) if iteration.master_weights else size
    kept = MOMENTS + (own > size) if iteration.optimizer != "none" else 0
    fsdp = planned.kinds.get("fsdp")
    shards = planned.replicas if fsdp else 1
    held = ((1 + training) * size + kept * own) * units.parameters / shards
    if fsdp:
        ahead = (1 + fsdp.prefetch) / fsdp.pieces
        gathered = units.layers if not fsdp.reshard else min(units.layers, ahead)
        held += size * gathered * units.layer.parameters
        held += size * (units.start.parameters + units.end.parameters)
        held += size * units.layer.parameters / fsdp.pieces if training else 0.0
    return held + _activations(planned) + _keys(planned)


def _activations(planned: Plan) -> float:
    units, iteration = planned.units(), planned.iteration
    written = {id(unit): _written(unit) for unit in units.each}
    inside = max(written.values(), default=0.0)
    ends = _written(units.start) + _written(units.end)
    if iteration.phase != "training":
        return max(inside, ends)
    in_flight = min(planned.micro_batches, planned.stages)
    if iteration.checkpointing == "layer" and not isinstance(planned.model, Dlrm):
        rows = planned.batch * iteration.length
        kept = float(rows * planned.model.hidden * planned.operators.element)
        fsdp = planned.kinds.get("fsdp")
        pieces = fsdp.pieces if fsdp else 1
        return in_flight * units.layers * pieces * kept + inside + ends
    return in_flight * sum(written[id(unit)] for unit in units.each) + ends


def _written(unit: Unit) -> float:
    """Bytes that the forward operators of *unit* write and the backward pass reads."""
    total = 0.0
    for step in unit.forward:
        if not (isinstance(step, Op) and step.kept):
            continue
        if step.task.kind == "gemm":
            total += 2.0 * step.task.m * step.task.n * step.task.batch
        else:
            total += step.task.written
    return total


def _keys(planned: Plan) -> float:
    iteration, model = planned.iteration, planned.model
    if iteration.phase not in ("prefill", "decode") or isinstance(model, Dlrm):
        return 0.0
    tokens = iteration.length + iteration.context
    windows = (model.kind_of(index).window for index in range(planned.own_layers))
    kept = sum(min(tokens, window or tokens) for window in windows)
    numbers = model.kv_numbers
    if model.latent is None:
        numbers = numbers // model.kv_heads * max(1, model.kv_heads // planned.tensor)
    return float(iteration.batch * kept * numbers * planned.operators.element)
