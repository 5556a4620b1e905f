"""How much of a GPU the operators of a model reach: numbers of the GPU file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from c3sim.specs.quantities import Positive, Time
from c3sim.specs.sourced import Hardware

Part = Annotated[Positive, Field(le=1)]
KernelTime = Annotated[Time, Field(gt=0)]


class SymmetricMemory(Hardware):
    """What a framework's operators over memory of all GPUs launch beside GEMMs and copies."""

    gap: Time
    """from one kernel of a stream to the next"""
    barrier: KernelTime
    """a kernel in which GPUs that come at the same time wait for each other"""
    sleep: KernelTime
    """from the end of the kernel before it, less the gap: what keeps a GEMM back"""
    sum: Part
    """part of the stream rate at which the parts of a result are added"""


class Operators(Hardware):
    """Parts of the matrix peak, and of the rate at which a compute unit reads a stream, that
    operators reach alone.
    """

    attention_forward: Part
    """part of the matrix peak: attention that keeps its scores in the compute unit, forward"""
    attention_backward: Part
    """the same, backward"""
    narrow_attention_forward: Part | None = None
    """attention_forward of heads of 64 numbers and less; left out: as of wider ones"""
    narrow_attention_backward: Part | None = None
    """the same, backward"""
    attention_read: Part
    """part of the stream rate at which attention reads and writes, where that binds it"""
    contiguous: Part
    """part of the stream rate: element-wise chains over whole tensors"""
    normalisation: Part
    """normalisation and softmax, forward and the gradient of their input"""
    row_flops: Positive | None = None
    """vector FLOP in whose time a norm exchanges the sums of a row, forward; left out: no time of
    their own"""
    gather: Part
    """embedding rows"""
    optimizer: Part
    """kernels over lists of tensors: optimizers, and copies of parameters"""
    strided_flops: Positive
    """vector FLOP in whose time an element of a tensor is found that is part of a wider one, or
    transposed"""
    activation_flops: Positive
    """vector FLOP in whose time an activation function with an exponential or an error function is
    computed for an element"""
    dropout_flops: Positive
    """the same of a random number for an element"""
    symmetric_memory: SymmetricMemory | None = None
    """left out: no schedule of kind micro_pipeline"""
