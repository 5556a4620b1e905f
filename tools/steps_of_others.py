"""The rows of docs/predictions/steps-of-others.csv: what was said of each step, what was not, and
what such a user would have. Read by predict_steps.py.
"""

from __future__ import annotations

from typing import Any

from step_conditions import (
    BESIDE,
    BOTH_BY_ENGINES,
    BY_ENGINES,
    CHANNELS_32,
    CHECKPOINTS,
    EVERY,
    FSDP_MI300X,
    GPT_7B,
    MIXED,
    MOE_2560,
    MOE_LARGE,
    MULTICAST,
    NCCL_BARRIER,
    ON_COPY_ENGINES,
    ON_SDMA,
    PIECES,
    QWEN_7B,
    QWEN_32B,
    SCATTER,
    SDMA_BARRIER,
    SLOW_ENGINE,
    SLOW_PROXY,
    SLOW_STEPS,
    SMALL_BATCH,
    Open,
    Row,
    Values,
)


def fsdp_16(name: str, node: str) -> Row:
    return Row(
        id=name,
        node=node,
        step={"model": QWEN_7B, **FSDP_MI300X},
        b=BY_ENGINES,
        open=(SMALL_BATCH, PIECES, CHANNELS_32, SDMA_BARRIER, SLOW_PROXY, SLOW_STEPS, CHECKPOINTS),
        decided_by="NICs of 400 Gb/s bind the all-gather on both sides; " + ON_SDMA,
    )


COMPILED_8B = {
    "model": "llama-3-8b",
    "batch": 2,
    "tokens": 4096,
    "fused": True,
    "optimizer": "adamw",
    "optimizer_kernels": "fused",
}
OF_DATA = "tasks[kind=collective,stream=communication-data]"

JAX = {"fused": True, "launch": "graph", **MIXED}
B200_STEP = {"model": MOE_2560, "batch": 16, "tokens": 4096, "parallel": {"kind": "fsdp"}, **JAX}
PERSISTENT = {"tasks[kind=gemm].schedule": "persistent"}
B200_OPEN = (
    Open(
        name="experts of 5120, 2 of 16",
        step={"model": {**MOE_2560, "ffn": 5120, "experts": 16, "experts_per_token": 2}},
    ),
    Open(
        name="128 experts, 8 used",
        step={"model": {**MOE_2560, "experts": 128, "experts_per_token": 8}},
    ),
    CHECKPOINTS,
    PIECES,
    Open(
        name="products that take tiles from a pool",
        both={"tasks[kind=gemm].schedule": "dynamic_persistent"},
    ),
    Open(
        name="products of one workgroup a tile", both={"tasks[kind=gemm].schedule": "one_per_tile"}
    ),
    Open(
        name="own choice of 24 channels",
        both={
            "collective_libraries.nccl.channels.default.all_gather": 24,
            "collective_libraries.nccl.channels.default.reduce_scatter": 24,
        },
    ),
)


def b200(name: str, b: Values, decided_by: str) -> Row:
    return Row(
        id=name,
        node="b200-8",
        step=B200_STEP,
        both=PERSISTENT,
        b=b,
        open=B200_OPEN,
        decided_by=decided_by,
    )


GB200_STEP = {
    "model": MOE_LARGE,
    "batch": 16,
    "tokens": 4096,
    "parallel": {"kind": "fsdp"},
    "checkpointing": "layer",
    **JAX,
}
GB200_BOTH = {"gpus": 64}
GB200_OPEN = (
    Open(
        name="half the layers twice as wide",
        step={
            "model": {
                **MOE_LARGE,
                "layers": 32,
                "hidden": 10240,
                "heads": 80,
                "kv_heads": 80,
                "ffn": 5120,
            }
        },
    ),
    Open(name="128 experts", step={"model": {**MOE_LARGE, "experts": 128}}),
    PIECES,
    Open(name="no prefetch", both={"parallel.prefetch": 0}),
)


def gb200(name: str, b: Values, decided_by: str, *more_open: Open, **more: Any) -> Row:
    return Row(
        id=name,
        node="gb200-72",
        step=GB200_STEP,
        both=GB200_BOTH,
        b=b,
        open=(*GB200_OPEN, *more_open),
        decided_by=decided_by,
        **more,
    )


def exchange_then_gemm(name: str, sequence: int, pieces: int) -> Row:
    """Each of four GPUs has a quarter of the sequence, which is projected once it has arrived."""

    def tasks(rows: int, **of_exchange: Any) -> Values:
        move = {"kind": "collective", "op": "all_to_all", "size": f"{rows * 8192 * 2} B"}
        gemm = {"kind": "gemm", "m": rows, "n": 8192, "k": 8192, "stream": "g"}
        return {
            "exchange": {**move, "stream": "c", **of_exchange},
            "project": {**gemm, "after": ["exchange"]},
        }

    def cut(count: int) -> Values:
        return {"schedule": {"kind": "pieces", "pieces": count}}

    mine = sequence // 4
    posted = {"submission": "direct", "prelaunched": True}  # by the GPU: no host
    fused = {"tasks": tasks(mine, backend="dma"), "host": posted, **cut(pieces)}
    return Row(
        id=name,
        node="mi355x-4",
        workload={},
        step_a={"tasks": tasks(mine)},
        step_b=fused,
        open=(
            Open(name="the other best number of pieces", step_b=cut(6 - pieces)),
            Open(name="posted by the host", step_b={"host": {"submission": "batch"}}),
            Open(
                name="the whole sequence on each GPU",
                step_a={"tasks": tasks(sequence)},
                step_b={"tasks": tasks(sequence, backend="dma")},
            ),
            Open(name="link at 61.5 GB/s", both={"links.bandwidth": "61.5 GB/s"}),
        ),
        decided_by="exchange that hides behind the product of the piece before, which is smaller",
    )


def experts(name: str, node: str, step: Values, b: Values, decided_by: str, *more: Open) -> Row:
    """Half batches beside each other, on a cluster."""
    return Row(
        id=name,
        node=node,
        step=step,
        step_b=b,
        open=(
            Open(name="steps between nodes of 14 us", both={"scale_out.step_latency": "14 us"}),
            Open(name="8 channels", both={f"{EVERY}.channels": 8}),
            Open(name="NICs reach 0.8 of their rate", both={"scale_out.efficiency": 0.8}),
            *more,
        ),
        decided_by=decided_by,
    )


#: Experts exchanged by a ring: all rows are gathered before them, sums scattered behind them.
ROWS_OF_ALL = 8 * 16 * 4096 * 2560 * 2
BY_RING = {
    f"tasks[name=*{name}].{field}": value
    for name, op in {
        "-to-experts": "all_gather",
        "-from-experts": "reduce_scatter",
        "-from-experts-gradient": "all_gather",
        "-to-experts-gradient": "reduce_scatter",
    }.items()
    for field, value in (("op", op), ("size", f"{ROWS_OF_ALL} B"))
}


def b200_ep(name: str, channels: int) -> Row:
    return Row(
        id=name,
        node="b200-8",
        step={**B200_STEP, "parallel": {"dp_shard": 8, "ep": 8}},
        both={**PERSISTENT, **BY_RING},
        b={f"{EVERY}.channels": channels},
        open=(*B200_OPEN[:3], B200_OPEN[-1]),
        decided_by="exchanges that nothing hides, bound by their channels",
    )


LAUNCHED_APART = {f"{SCATTER}.stream": "scatter"}  # five streams, as the source has


def queues(name: str, a: int, b: int) -> Row:
    return Row(
        id=name,
        node="mi355x-8 x 2",
        step={
            "model": "deepseek-v3",
            "layers": 6,
            "head": True,
            "tokens": 4096,
            "batch": 1,
            "optimizer": "adamw",
            "parallel": {"dp_shard": 16, "ep": 2},
        },
        both=LAUNCHED_APART,
        a={"workload.host.queues": a},
        b={"workload.host.queues": b},
        open=(
            Open(name="graphs", step={"launch": "graph"}),
            Open(name="4 sequences of a GPU", step={"batch": 4}),
            Open(name="2048 tokens", step={"tokens": 2048}),
        ),
        decided_by="a stream that shares a queue with another one, or none that does",
    )


EXCHANGE = "tasks[kind=collective,op=all_to_all]"
EP_16 = {
    "model": "qwen3-30b-a3b",
    "batch": 4,
    "tokens": 4096,
    "optimizer": "adamw",
    "parallel": {"dp_shard": 16, "ep": 16, "reshard": False, "micro_batches": 4},
}
EP_16_BESIDE = {"halves": 2, "parallel": {**EP_16["parallel"], "micro_batches": 2}}

ROWS: tuple[Row, ...] = (
    Row(
        id="mi300x-zero3-7b",
        node="mi300x-8",
        step={"model": GPT_7B, **FSDP_MI300X},
        b=BY_ENGINES,
        open=(SMALL_BATCH, PIECES, CHANNELS_32, SDMA_BARRIER, CHECKPOINTS, BESIDE),
        decided_by=ON_SDMA,
    ),
    Row(
        id="mi300x-zero3-32b",
        node="mi300x-8",
        step={"model": QWEN_32B, **FSDP_MI300X, "batch": 2, "checkpointing": "layer"},
        b=BY_ENGINES,
        open=(SMALL_BATCH, PIECES, CHANNELS_32, SDMA_BARRIER, BESIDE),
        decided_by=ON_SDMA,
    ),
    fsdp_16("mi300x-fsdp-16", "mi300x-8 x 2"),
    fsdp_16("mi355x-fsdp-16", "mi355x-8 x 2"),
    Row(
        id="h100-fsdp-8b",
        node="h100-8",
        step={**COMPILED_8B, "parallel": {"kind": "fsdp"}},
        b=BOTH_BY_ENGINES,
        open=(
            PIECES,
            NCCL_BARRIER,
            SLOW_ENGINE,
            MULTICAST,
            CHECKPOINTS,
            Open(name="graphs", step={"launch": "graph"}),
        ),
        decided_by=ON_COPY_ENGINES,
    ),
    Row(
        id="h100-fsdp-tp-8b",
        node="h100-8",
        step={
            **COMPILED_8B,
            "parallel": [{"kind": "fsdp"}, {"kind": "tensor", "size": 2, "sequence": True}],
        },
        b={f"{OF_DATA}.by": "engines"},
        open=(
            Open(
                name="tensor groups of 4",
                step={
                    "parallel": [{"kind": "fsdp"}, {"kind": "tensor", "size": 4, "sequence": True}]
                },
            ),
            Open(
                name="no sequence parallel",
                step={"parallel": [{"kind": "fsdp"}, {"kind": "tensor", "size": 2}]},
            ),
            NCCL_BARRIER,
            SLOW_ENGINE,
        ),
        decided_by=ON_COPY_ENGINES
        + "; tensor-parallel collectives stay on SMs and share the links",
    ),
    Row(
        id="h100-pair",
        node="h100-8",
        workload={
            "tasks": {
                "gemm": {
                    "kind": "gemm",
                    "m": 8192,
                    "n": 8192,
                    "k": 8192,
                    "dtype": "fp16",
                    "stream": "g",
                },
                "gather": {
                    "kind": "collective",
                    "op": "all_gather",
                    "size": "64 MiB",
                    "stream": "c",
                },
            },
            "host": {"release": "event"},
        },
        b={"task.gather.by": "engines"},
        open=(
            Open(
                name="collective launched first", both={"workload.host.order": ["gather", "gemm"]}
            ),
            Open(name="collective at high priority", both={"stream.c.priority": 1}),
            NCCL_BARRIER,
            SLOW_ENGINE,
            MULTICAST,
        ),
        decided_by="SMs that the all-gather takes from the product, and its tail behind it",
    ),
    Row(
        id="h20-fsdp",
        node="h200-8",
        step={"model": QWEN_7B, "batch": 1, "tokens": 4096, "parallel": {"kind": "fsdp"}, **MIXED},
        both={
            # NVIDIA H20 data sheet: 148 TFLOPS bf16 of 78 SMs, 4.0 TB/s, 96 GB, 400 W, 900 GB/s
            "gpu.dies.shader_engines": [10, 10, 10, 10, 10, 10, 9, 9],
            "gpu.compute_units.flops_per_cycle.bf16": 1024,
            "gpu.hbm.bandwidth": "4.0 TB/s",
            "gpu.hbm.capacity": "96 GB",
            "gpu.clock.power_limit": "400 W",
        },
        b=BY_ENGINES,
        open=(
            Open(
                name="Qwen3 32B, layers run again",
                step={"model": QWEN_32B, "checkpointing": "layer"},
            ),
            Open(name="4 sequences of a GPU", step={"batch": 4, "checkpointing": "layer"}),
            NCCL_BARRIER,
            SLOW_ENGINE,
            MULTICAST,
        ),
        decided_by="24 of 78 SMs that all-gathers no longer take; products bind the step",
    ),
    exchange_then_gemm("mi355x-a2a-8k", 8192, 2),
    exchange_then_gemm("mi355x-a2a-16k", 16384, 4),
    b200(
        "b200-fsdp-16ctas",
        {f"{EVERY}.channels": 16},
        "SMs given back to products, against slower collectives behind them",
    ),
    b200(
        "b200-fsdp-8ctas",
        {f"{EVERY}.channels": 8},
        "collectives of 8 channels take longer than the layer beside them or not",
    ),
    b200(
        "b200-fsdp-carve16",
        {"tasks[kind=gemm].workgroups": 132},
        "16 SMs that products leave to channels at all times",
    ),
    gb200(
        "gb200-ll128",
        {f"{EVERY}.protocol": "ll128"},
        "payload of 120 of 128 bytes, hidden behind products",
    ),
    gb200(
        "gb200-simple", {f"{EVERY}.protocol": "simple"}, "what the library chooses for such sizes"
    ),
    gb200(
        "gb200-nvls",
        {f"{EVERY}.backend": "nccl_symmetric"},
        "what multicast in the switch gives over the ring, hidden behind products",
        Open(name="the ring pinned", b={f"{EVERY}.backend": "nccl"}),
    ),
    gb200("gb200-graphs", {}, "kernels of milliseconds hide launches", step_a={"launch": "eager"}),
    b200_ep("b200-ep8-16ctas", 16),
    b200_ep("b200-ep8-8ctas", 8),
    experts(
        "h100-moe-ep32",
        "h100-8 x 4",
        {
            "model": "deepseek-v2-lite",
            "batch": 4,
            "tokens": 4096,
            "optimizer": "adamw",
            "parallel": {"dp_shard": 32, "ep": 32},
        },
        {"halves": 2},
        "exchanges over NICs that hide behind the other half, against kernels of half the rows",
        Open(name="8 sequences of a GPU", step={"batch": 8}),
        Open(name="2 sequences of a GPU", step={"batch": 2}),
        Open(name="host three times as slow", step={"slowness": 3.0}),
        Open(name="compiled", step={"fused": True}),
    ),
    experts(
        "h100-moe-ep16-a2a",
        "h100-8 x 2",
        EP_16,
        EP_16_BESIDE,
        "exchanges over NICs that hide behind the other micro batch",
        Open(name="compiled", step={"fused": True}),
        Open(name="exchange by phases", both={f"{EXCHANGE}.algorithm": "hierarchical"}),
    ),
    Row(
        id="h100-moe-ep16",
        why_not="HybridEP sends a row once to each node and hands it on inside with few SMs: "
        "bytes between nodes that follow from where a row's experts are cannot be said here",
    ),
    Row(
        id="h200-tp4-prefill",
        node="h200-4",
        step={
            "model": {**QWEN_32B, "fused_qkv": True, "fused_gate": True},
            "batch": 4,
            "tokens": 4096,
            "phase": "prefill",
            "fused": True,
            "parallel": {"kind": "tensor"},
        },
        step_b={"halves": 2},
        open=(
            Open(name="fp8 products", step={"precision": "fp8"}),
            Open(name="host twice as slow", step={"slowness": 2.0}),
            Open(
                name="symmetric-memory all-reduces",
                both={"tasks[kind=collective,op=all_reduce].backend": "nccl_symmetric"},
            ),
            Open(name="8 channels", both={f"{EVERY}.channels": 8}),
        ),
        decided_by="sums that hide behind the other half, against the SMs that they take",
    ),
    queues("mi355x-queues-8", 4, 8),
    queues("mi355x-queues-16", 8, 16),
)
