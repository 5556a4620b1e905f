"""Bytes that a GPU needs for an iteration.

    weights       parameters x e, in shards under fsdp, beside what is gathered (a layer, or a
                  piece of it, and those ahead) and the root; layers' in fp8, where they are not
                  trained and operands are 8 bit numbers already, a byte each
    gradients     as many, in training
    optimizer     two moments each (AdamW, LAMB); with master weights in 4 bytes, beside the weights
    activations   what forward operators write and the backward pass reads, all layers; with
                  checkpointing the inputs of all layers and the inside of one
    logits        three tensors of 4 byte numbers, where there is a loss
    keys, values  of all tokens, or of a window, or latent vectors, where tokens are generated

What allocators and libraries need beside that is not counted.
"""

from __future__ import annotations

from c3sim.iterations.build import Plan
from c3sim.iterations.optimizers import MASTER
from c3sim.iterations.steps import Op
from c3sim.iterations.units import Unit, Units
from c3sim.spec.models import Dlrm
from c3sim.spec.task import DTYPE_BYTES

MOMENTS = 2


def memory_bytes(planned: Plan) -> float:
    """Bytes on a GPU that has all of its layers, before and behind them what the model has."""
    return memory_of_stage(planned, planned.own_layers, True, True, 1.0)


def memory_of_stage(planned: Plan, layers: int, first: bool, last: bool, held: float) -> float:
    """Bytes on a GPU with so many *layers*, which is the *first* stage, the *last* one, both or
    neither, and has activations of as many micro batches at most as are *held*.
    """
    iteration, units = planned.iteration, planned.units()
    ends = [unit for unit, here in ((units.start, first), (units.end, last)) if here]
    size = planned.operators.kept
    training = iteration.phase == "training"
    own = max(size, MASTER) if iteration.master_weights else size
    kept = MOMENTS + (own > size) if iteration.optimizer != "none" else 0
    fsdp = planned.mesh.fsdp
    alone, each = sum(unit.parameters for unit in ends), _of(units, layers)
    experts = sum(unit.parameters - unit.shared for unit in each) if planned.mesh.ep > 1 else 0
    shared = sum(unit.parameters for unit in each) - experts + alone
    numbers = shared / planned.mesh.shards
    numbers += experts / (planned.mesh.copies if fsdp else 1)
    total = ((1 + training) * size + kept * own) * numbers
    if iteration.precision == "fp8" and not training and iteration.scales == "none":
        total -= (size - DTYPE_BYTES["fp8"]) * (numbers - alone / planned.mesh.shards)
    if fsdp:
        ahead = (1 + fsdp.prefetch) / fsdp.pieces
        gathered = layers if not fsdp.reshard else min(layers, ahead)
        total += size * gathered * units.layer.parameters + size * alone
        total += size * units.layer.parameters / fsdp.pieces if training else 0.0
    return total + _activations(planned, layers, ends, held) + _keys(planned, layers)


def _activations(planned: Plan, layers: int, around: list[Unit], held: float) -> float:
    units, iteration = planned.units(), planned.iteration
    written = [_written(unit) for unit in _of(units, layers)]
    inside, ends = max(written, default=0.0), sum(_written(unit) for unit in around)
    if iteration.phase != "training":
        return max(inside, ends)
    if iteration.checkpointing == "layer" and not isinstance(planned.model, Dlrm):
        rows = planned.batch * iteration.length / planned.mesh.size("cp")
        kept = float(rows * planned.model.hidden * planned.operators.element)
        fsdp = planned.mesh.fsdp
        pieces = fsdp.pieces if fsdp else 1
        return held * layers * pieces * kept + inside + ends
    return held * sum(written) + ends


def _of(units: Units, layers: int) -> tuple[Unit, ...]:
    """So many layers; a GPU with two stages has more than one of them."""
    return (units.each * (1 + layers // max(1, units.layers)))[:layers]


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
            total += sum(each.bytes for each in step.task.accesses if each.stores)
    return total


def _keys(planned: Plan, layers: int) -> float:
    iteration, model = planned.iteration, planned.model
    if iteration.phase not in ("prefill", "decode") or isinstance(model, Dlrm):
        return 0.0
    tokens = (iteration.length + iteration.context) / planned.mesh.size("cp")
    windows = (model.kind_of(index).window for index in range(layers))
    kept = sum(min(tokens, window or tokens) for window in windows)
    numbers = model.kv_numbers_of(planned.tensor)
    return float(iteration.batch * kept * numbers * planned.operators.element)
