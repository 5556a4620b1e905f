"""The conditions of steps that others measured: models, and what several rows leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Open:
    """A condition that the source leaves open, at another value: fields of the *step*, on one side
    or both; settings of *both* sides, or of side *b* alone.
    """

    name: str
    step: Values = field(default_factory=dict)
    both: Values = field(default_factory=dict)
    b: Values = field(default_factory=dict)
    step_a: Values = field(default_factory=dict)
    step_b: Values = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A *step* (an iteration) or a *workload* on *node*; settings of *both* sides, of *a* and *b*;
    fields of the step on one side.
    """

    id: str
    node: str = ""
    step: Values = field(default_factory=dict)
    workload: Values | None = None
    both: Values = field(default_factory=dict)
    a: Values = field(default_factory=dict)
    b: Values = field(default_factory=dict)
    step_a: Values = field(default_factory=dict)
    step_b: Values = field(default_factory=dict)
    open: tuple[Open, ...] = ()
    decided_by: str = ""
    why_not: str = ""


GATHER = "tasks[kind=collective,op=all_gather]"
SCATTER = "tasks[kind=collective,op=reduce_scatter]"
EVERY = "tasks[kind=collective]"
BY_ENGINES = {f"{GATHER}.by": "engines"}
BOTH_BY_ENGINES = {f"{GATHER}.by": "engines", f"{SCATTER}.by": "engines"}
MIXED = {"optimizer": "adamw", "master_weights": True}


def dense(
    hidden: int, layers: int, heads: int, kv: int, ffn: int, vocab: int, **more: Any
) -> Values:
    """A dense transformer in place."""
    sizes = {"hidden": hidden, "layers": layers, "heads": heads, "kv_heads": kv, "ffn": ffn}
    model = {"head_dim": 128, "vocab": vocab, "source": "public sizes of the named model"}
    return {**sizes, **model, **more}


#: As GPT-3 6.7B (arXiv 2005.14165, table 2.1).
GPT_7B = dense(4096, 32, 32, 32, 16384, 50304, gated=False, bias=True)
#: config.json of the public Qwen/Qwen3-32B and Qwen/Qwen-7B.
QWEN_32B = dense(5120, 64, 64, 8, 25600, 151936)
QWEN_7B = dense(4096, 32, 32, 32, 11008, 151936)
#: Sizes that the source gives; experts, their width and how many a token takes are open.
MOE_2560 = dense(2560, 26, 20, 20, 1280, 128256, experts=64, experts_per_token=4)
#: A step of 17 s for 65,536 tokens of a GPU needs some 40e9 parameters that a token uses.
MOE_LARGE = dense(7168, 64, 56, 56, 3584, 128256, experts=64, experts_per_token=6)

# Several rows have the same open conditions.

CHANNELS_32 = Open(name="32 channels pinned", both={f"{EVERY}.channels": 32})
SMALL_BATCH = Open(name="1 sequence of a GPU", step={"batch": 1})
CHECKPOINTS = Open(name="layers are run again", step={"checkpointing": "layer"})
PIECES = Open(name="attention and network gathered apart", both={"parallel.pieces": 2})
SDMA_BARRIER = Open(
    name="barrier of 30 us around engines",
    both={"collective_libraries.rccl.engines.barrier_time": "30 us"},
)
NCCL_BARRIER = Open(
    name="barrier of 15 us around engines",
    both={"collective_libraries.nccl.engines.barrier_time": "15 us"},
)
#: Measured: one H200 that pushes to three peers at once.
SLOW_ENGINE = Open(
    name="engines at 254 GB/s to several peers", both={"gpu.dma_engines.bandwidth": "254 GB/s"}
)
MULTICAST = Open(name="multicast all-gathers", b={f"{GATHER}.variant": "multicast"})
BESIDE = Open(
    name="channels keep half their rate beside arithmetic",
    both={"collective_libraries.rccl.channels.beside_compute": 0.5},
)
SLOW_PROXY = Open(name="host posts in 2 us", both={"scale_out.post_time": "2 us"})
SLOW_STEPS = Open(name="steps between nodes of 14 us", both={"scale_out.step_latency": "14 us"})

ON_SDMA = "units and memory that all-gathers on CUs take from products"
ON_COPY_ENGINES = "SMs that collectives no longer take, against the rate of one engine"

FSDP_MI300X = {"tokens": 2048, "batch": 4, "parallel": {"kind": "fsdp"}, **MIXED}
