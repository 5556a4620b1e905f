"""Names of collectives, data types and sizes: in logs, in the workload schema, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from c3sim.input.units import format_si

OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
OP_WORDS = {op: op.replace("_", "-") for op in OPS}
#: Name of the task in a record.
OP_TASKS = {
    "all_reduce": "reduce",
    "all_gather": "gather",
    "reduce_scatter": "scatter",
    "all_to_all": "exchange",
}

#: Letters and digits only, lower case -> data type of the schema.
DTYPES = {
    "float": "fp32",
    "float32": "fp32",
    "fp32": "fp32",
    "f32": "fp32",
    "f32r": "fp32",
    "s": "fp32",
    "single": "fp32",
    "half": "fp16",
    "float16": "fp16",
    "fp16": "fp16",
    "f16": "fp16",
    "f16r": "fp16",
    "h": "fp16",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "bf16r": "bf16",
    "fp8": "fp8",
    "fp8e4m3": "fp8",
    "fp8e5m2": "fp8",
    "f8e4m3": "fp8",
    "f8e5m2": "fp8",
    "float8e4m3": "fp8",
    "float8e5m2": "fp8",
    "float8e4m3fn": "fp8",
    "float8e4m3fnuz": "fp8",
    "float8e5m2fnuz": "fp8",
    "f8r": "fp8",
    "bf8r": "fp8",
    "f8fnuzr": "fp8",
    "bf8fnuzr": "fp8",
}
_OPS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgatherbase": "all_gather",
    "allgatherintotensor": "all_gather",
    "allgatherintotensorcoalesced": "all_gather",
    "reducescatter": "reduce_scatter",
    "reducescatterbase": "reduce_scatter",
    "reducescattertensor": "reduce_scatter",
    "reducescattertensorcoalesced": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoallbase": "all_to_all",
    "alltoallsingle": "all_to_all",
}


def collective_of(name: str) -> str | None:
    """The schema's name of ``AllGather``, ``all_gather_perf``, ``_allgather_base``; None for what
    it has no name for.
    """
    letters = re.sub(r"[^a-z]", "", name.lower().removesuffix("_perf"))
    return _OPS.get(letters)


def dtype_of(name: str) -> str | None:
    """The schema's name of ``bfloat16``, ``c10::BFloat16``, ``bf16_r``; None: it has none."""
    return DTYPES.get(re.sub(r"[^a-z0-9]", "", name.lower().removeprefix("c10::")))


def size_text(size: float) -> str:
    """``256 MiB``, or bytes."""
    return format_si(size, "B")


def version_of(code: int) -> str:
    """22809, as NCCL and RCCL number their versions, is 2.28.9."""
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"


def task_text(task: Mapping[str, Any] | None) -> str:
    """``GEMM 4096x4096x4096 bf16``, ``all-gather 128 MiB``; empty for None."""
    if task is None:
        return ""
    if task["kind"] == "gemm":
        batch = f" x{task['batch']}" if "batch" in task else ""
        return f"GEMM {task['m']}x{task['n']}x{task['k']}{batch} {task['dtype']}"
    return f"{OP_WORDS[task['op']]} {size_text(task['size'])}"
