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

# spellings without what is neither letter nor digit, in lower case
_DTYPE_SPELLINGS = {
    "fp32": "float float32 fp32 f32 f32r s single",
    "fp16": "half float16 fp16 f16 f16r h",
    "bf16": "bfloat16 bf16 bf16r",
    "fp8": "fp8 fp8e4m3 fp8e5m2 f8e4m3 f8e5m2 float8e4m3 float8e5m2 float8e4m3fn float8e4m3fnuz"
    " float8e5m2fnuz f8r bf8r f8fnuzr bf8fnuzr",
}
_OP_SPELLINGS = {
    "all_reduce": "allreduce",
    "all_gather": "allgather allgatherbase allgatherintotensor allgatherintotensorcoalesced",
    "reduce_scatter": "reducescatter reducescatterbase reducescattertensor"
    " reducescattertensorcoalesced",
    "all_to_all": "alltoall alltoallbase alltoallsingle",
}


def by_spelling(spellings: Mapping[str, str]) -> dict[str, str]:
    """Spelling -> name, from name -> its spellings."""
    return {each: name for name, words in spellings.items() for each in words.split()}


#: Spelling -> data type of the schema.
DTYPES = by_spelling(_DTYPE_SPELLINGS)
_OPS = by_spelling(_OP_SPELLINGS)


def collective_of(name: str) -> str | None:
    """The schema's name of ``AllGather``, ``all_gather_perf``, ``_allgather_base``, or None."""
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
