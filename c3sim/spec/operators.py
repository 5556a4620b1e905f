"""Operators of models in hardware files: what each kind of kernel reaches by itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from c3sim.spec.quantities import Bytes, Count, Efficiency, Factor, Fraction, Positive, Time
from c3sim.spec.sourced import Hardware

Part = Annotated[Positive, Field(le=1)]
KernelTime = Annotated[Time, Field(gt=0)]


class SymmetricMemory(Hardware):
    """Kernels that a framework's operators over symmetric memory launch beside GEMMs and copies."""

    barrier: KernelTime
    """a kernel in which GPUs that come at the same time wait for each other"""
    sleep: KernelTime
    """what keeps a GEMM back: from the end of the kernel before it, less the gap between kernels"""
    sum: Part
    """part of the stream rate at which the parts of a result are added"""


Asked = Annotated[Positive, Field(le=4)]


class AttentionOfOne(Hardware):
    """The kernel of attention of one new token: room of a workgroup, and what it has under way."""

    threads: Count
    """of a workgroup"""
    registers: Count
    """of a thread"""
    lds: Bytes
    """of a workgroup"""
    key_block: Count
    """keys of a block; a workgroup has a block of keys and one of values under way"""
    memory_efficiency: Efficiency
    """part of what memory gives that it reaches"""


class AttentionRoom(Hardware):
    """Room of a workgroup of attention that stays on its unit and takes tile after tile."""

    threads: Count
    """of a workgroup"""
    registers: Count
    """of a thread"""
    lds: Bytes
    """of a workgroup"""


class Clocked(Hardware):
    """Part of the time of an operator's limit of issue that follows the engine clock: the rest is
    of the fabric and of memory. What FLOP beyond the least ones take follows it whole.
    """

    contiguous: Fraction = 1.0
    """of *contiguous_flops*"""
    strided: Fraction = 1.0
    """of *strided_flops*"""
    norm: Fraction = 1.0
    """of *rms_norm_flops*"""
    norm_gradient: Fraction = 1.0
    """of *norm_gradient_flops*"""
    softmax: Fraction = 1.0
    """of softmax, forward and backward"""
    attention: Fraction = 1.0
    """of attention of several tokens"""


class FlashTwo(Hardware):
    """Attention by FlashAttention-2's kernels, written for Ampere (arXiv 2307.08691), a workgroup
    for each tile: those that PyTorch's FLASH_ATTENTION takes, where *attention_forward* and the
    like are of the GPU's own.
    """

    forward: Part
    """part of the matrix peak that a unit's workgroups reach in their loops over keys"""
    backward: Part
    """the same, backward"""
    narrow_forward: Part
    """the same of heads of 64 numbers and less"""
    narrow_backward: Part
    """the same, backward"""
    loads: Annotated[int, Field(ge=0)]
    """loads in whose time a workgroup has its first queries and keys and stores its result"""
    per_unit: Annotated[int, Field(ge=1, le=16)]
    """workgroups that share a unit, forward; backward has one"""


class SoftmaxKernels(Hardware):
    """Time of PyTorch's softmax kernels for each number of a row, in vector FLOP, by where a kernel
    keeps the row (iterations/softmax_kernels.py).
    """

    lane_flops: Factor = 0.0
    """forward, of a row of which a lane of a warp keeps at most 32 numbers"""
    wide_lane_flops: Factor = 0.0
    """the same of one of which it keeps 64"""
    lane_backward_flops: Factor = 0.0
    """backward, of a row of which it keeps at most 16 numbers"""
    wide_lane_backward_flops: Factor = 0.0
    """the same of one of which it keeps 32"""
    kept_flops: Factor = 0.0
    """forward, of a row that the registers of a workgroup keep"""
    backward_flops: Factor = 0.0
    """backward, of a longer row"""
    log_part: Factor = 1.0
    """of a row that a workgroup has, and of one of which a lane keeps at most 16 numbers: what
    log-softmax, which has one exponential less, takes of it forward"""


class Operators(Hardware):
    """Limits of the operators of a model, each by itself. An operator takes the longest of what
    its limits make it take.

    ================  ===============================================  =========================
    limit             said as                                          scales with
    ================  ===============================================  =========================
    memory            part of what memory gives                        hbm.bandwidth
    requests          what a unit asks for, of what a stream asks for  read_bandwidth, units
    issue             vector FLOP for an element, or a row             flops_per_cycle.fp32, units
    matrix            part of the matrix peak                          flops_per_cycle, units
    latency           loads that wait for each other                   hbm.latency
    cache             times that rows are read again                   l2.capacity
    ================  ===============================================  =========================
    """

    attention_forward: Part
    """part of the matrix peak: a workgroup of attention that keeps its scores in the compute unit,
    in its loop over keys, forward"""
    attention_backward: Part
    """the same, backward"""
    wide_attention_forward: Part | None = None
    """attention_forward of heads of more than 128 numbers; left out: as of others"""
    wide_attention_backward: Part | None = None
    """the same, backward"""
    narrow_attention_forward: Part | None = None
    """attention_forward of heads of 64 numbers and less; left out: as of wider ones"""
    narrow_attention_backward: Part | None = None
    """the same, backward"""
    attention_loads: Annotated[int, Field(ge=0)] = 0
    """loads in whose time a workgroup of attention has its first queries and keys and stores its
    result"""
    attention_gradient_loads: Annotated[int, Field(ge=0)] = 0
    """the same, backward"""
    narrow_attention_loads: Annotated[int, Field(ge=0)] = 0
    """attention_loads of heads of 64 numbers and less, if narrow_attention_forward is said"""
    narrow_attention_gradient_loads: Annotated[int, Field(ge=0)] = 0
    """the same, backward"""
    dropped_score_flops: Factor = 0.0
    """vector FLOP in whose time the GPU's kernels of attention draw the number for a score that may
    be dropped, forward"""
    dropped_gradient_flops: Factor = 0.0
    """the same, backward"""
    attention_read: Asked
    """requests of attention, against those of a stream"""
    attention_room: AttentionRoom | None = None
    """of more than one token, whose workgroups stay; left out: one for each tile, which has a unit
    for itself"""
    flash_2: FlashTwo | None = None
    """the same by other kernels; left out: not known"""
    attention_of_one: AttentionOfOne | None = None
    """of one new token; left out: its requests are those of attention_read, and two workgroups have
    all of a unit's registers"""
    contiguous: Asked
    """the same of element-wise chains over whole tensors"""
    contiguous_flops: Factor = 0.0
    """vector FLOP in whose time an element of them is loaded, handled and stored"""
    normalisation: Part
    """part of what memory gives: norms, forward and the gradient of their input"""
    row_flops: Factor = 0.0
    """vector FLOP in whose time a layer norm exchanges the sums of a row, forward"""
    layer_norm_flops: Factor = 0.0
    """vector FLOP in whose time it handles an element"""
    rms_norm_flops: Factor = 0.0
    """the same of an RMS norm"""
    norm_gradient_flops: Factor = 0.0
    """the same of the gradient of a norm's input"""
    softmax: Part
    """part of what memory gives: softmax over rows, forward and backward"""
    softmax_flops: Factor = 0.0
    """vector FLOP in whose time it handles an element"""
    softmax_again: Factor = 0.0
    """times that it reads long rows again, from L1 and L2 as far as these hold those in progress"""
    softmax_kernels: SoftmaxKernels = SoftmaxKernels()
    """left out: only long rows have a cost of their own"""
    softmax_rest: Positive = 1.0
    """times as long that it takes for a number at the end of a row, beyond whole vectors of all
    threads of a workgroup"""
    gather: Part
    """part of what memory gives: embedding rows"""
    gather_flops: Factor = 0.0
    """vector FLOP in whose time an element of them is found and moved"""
    permute_flops: Factor | None = None
    """vector FLOP in whose time an element is copied of rows that go to several places; left out:
    as gather"""
    sort_loads: Count = 4
    """loads that wait for each other in a pass of a sort of many numbers"""
    short_sort_loads: Count = 40
    """the same of a sort of few in one workgroup"""
    scatter: Part | None = None
    """part of what memory gives: rows added to those of a table; left out: as gather"""
    scatter_flops: Factor | None = None
    """vector FLOP in whose time an element of them is added; left out: as gather"""
    top_k_flops: Factor | None = None
    """vector FLOP in whose time an element is handled of rows whose largest are looked for; left
    out: several times that of softmax"""
    optimizer: Asked
    """requests of kernels over lists of tensors: optimizers, and copies of parameters"""
    strided_flops: Positive
    """vector FLOP in whose time an element of a tensor is found that is part of a wider one, or
    transposed, read and written; a third of it for each further tensor that is read"""
    joined_flops: Factor = 0.0
    """the same where halves of rows are put together, as rotary embeddings do; left out: no more"""
    activation_flops: Positive
    """vector FLOP in whose time an activation function with an exponential or an error function is
    computed for an element"""
    silu_flops: Positive | None = None
    """the same of SiLU; left out: as other activations"""
    activation_gradient_flops: Positive | None = None
    """the same of the gradient of an activation's input; left out: as forward"""
    silu_gradient_flops: Positive | None = None
    """the same of SiLU; left out: as forward"""
    dropout_flops: Positive
    """the same of a random number for an element"""
    dropout: Part = 1.0
    """part of what memory gives: dropout"""
    clocked: Clocked = Clocked()
    """left out: all of it"""
    loads: Count = 2
    """loads of a workgroup that wait for each other: arguments, then what they point to"""
    strided_loads: Count = 4
    """the same where every element's place is worked out from sizes and strides"""
    row_workgroups: Count = 16
    """workgroups of a norm that share a unit"""
    list_workgroups: Count = 4
    """the same of kernels over lists of tensors"""
    symmetric_memory: SymmetricMemory | None = None
    """left out: no schedule of kind micro_pipeline"""
