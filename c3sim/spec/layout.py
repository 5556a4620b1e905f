"""Layout of a job over its GPUs: sizes of dimensions, named as torchtitan and Megatron do."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from c3sim.spec.base import Spec
from c3sim.spec.fields import ByForm
from c3sim.spec.quantities import Bytes, Count, Parts

Dimension = Literal["pp", "dp_replicate", "dp_shard", "cp", "tp"]
Schedule = Literal["gpipe", "1f1b", "interleaved", "zero_bubble", "dualpipe"]
#: Name -> dimensions, the outermost first: torchtitan's mesh; Megatron-LM's ``tp-cp-ep-dp-pp``, and
#: that of its option ``use-tp-pp-dp-mapping``.
ORDERS: dict[str, tuple[Dimension, ...]] = {
    "torchtitan": ("pp", "dp_replicate", "dp_shard", "cp", "tp"),
    "megatron": ("pp", "dp_replicate", "dp_shard", "cp", "tp"),
    "megatron_tp_pp_dp": ("dp_replicate", "dp_shard", "pp", "cp", "tp"),
}


class Layout(Spec):
    """Dimensions of a device mesh. Their product is the number of GPUs; dp_shard, or else
    dp_replicate, is what the others leave.
    """

    dp_replicate: Parts | None = None
    """replicas whose gradients are all-reduced; with dp_shard above 1: HSDP. Left out: 1, or what
    is left where dp_shard is given"""
    dp_shard: int | None = Field(None, ge=-1, le=4096)
    """GPUs that weights, gradients and optimizer are sharded over (with those of cp); 1: none, ddp;
    -1: what is left. Left out: -1; where nothing is trained, replicas that exchange nothing"""
    cp: Parts = 1
    """GPUs that share the tokens of a sequence"""
    tp: Parts = 1
    """GPUs that share every layer"""
    pp: Parts = 1
    """stages of the pipeline"""
    ep: Parts = 1
    """GPUs that experts are dealt to: neighbours of dp_shard and cp, and of tp where etp is 1"""
    etp: Parts | None = None
    """GPUs that share an expert: 1 (torchtitan's) or as many as tp; left out: 1 where ep is above 1
    and tokens are split (sequence), else tp"""
    order: Annotated[
        Literal["torchtitan", "megatron", "megatron_tp_pp_dp"] | tuple[Dimension, ...], ByForm()
    ] = "torchtitan"
    """dimensions from the outermost to the one whose GPUs are neighbours: by name, or a list"""
    queues: Parts | None = None
    """hardware queues that streams share, in launch order; 1: as Megatron-LM has it
    (CUDA_DEVICE_MAX_CONNECTIONS=1); left out: one for each stream"""
    sequence: bool = True
    """tp: norms and residuals are split by tokens: reduce-scatters and all-gathers instead of
    all-reduces"""
    cp_by: Literal["all_gather", "ring", "all_to_all"] = "all_gather"
    """all_gather: of keys and values before attention; ring: they go round beside it, GPU by GPU;
    all_to_all: heads for tokens before it and back behind it"""
    cp_rotate: Literal["allgather", "alltoall"] | None = None
    """ring: as PyTorch's attention runs it, whose results are merged in 32 bit: keys and values are
    gathered beside the first piece, or go round (torchtitan's context_parallel_rotate_method). Left
    out: they go round, a kernel merges (TransformerEngine)"""
    schedule: Schedule = "1f1b"
    """order of micro batches in the stages"""
    chunks: Count | None = Field(None, le=64)
    """interleaved: stages' parts on each GPU; left out: 2"""
    micro_batches: Count | None = None
    """parts of the batch that follow each other; left out: a sequence each where pp is above 1,
    else 1. Without a pipeline gradients are accumulated"""
    prefetch: int = Field(1, ge=0)
    """dp_shard: layers that are gathered ahead of the one that runs"""
    forward_prefetch: bool = False
    """dp_shard: whether the host launches the gather of a layer in front of the kernels of the
    layer before it in the forward pass too"""
    reshard: bool | None = None
    """dp_shard: whether weights are freed after the forward pass; left out: not in a pipeline"""
    pieces: Literal[1, 2] = 1
    """dp_shard: parts of a layer that are gathered by themselves; 2: attention and network"""
    bucket: Bytes = 25.0 * 2**20
    """ddp: a bucket is sent when it has as much"""
    views: bool = False
    """ddp: whether gradients are views of the buckets"""

    @model_validator(mode="after")
    def _rotates_a_ring(self) -> Self:
        if self.cp_rotate is not None and self.cp_by != "ring":
            raise ValueError("cp_rotate is of a ring; cp_by must be ring")
        return self

    @field_validator("dp_shard")
    @classmethod
    def _is_size(cls, size: int | None) -> int | None:
        if size == 0:
            raise ValueError("got 0; must be a number of GPUs, or -1: what is left")
        return size

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """From the outermost on; those that *order* leaves out stand before the others."""
        if isinstance(self.order, str):
            return ORDERS[self.order]
        return (*(each for each in ORDERS["torchtitan"] if each not in self.order), *self.order)
