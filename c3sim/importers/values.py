"""Values in logs: names of collectives and data types, numbers, and what the user adds to them."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from c3sim.errors import InputError
from c3sim.spec.units import format_si, parse_quantity
from c3sim.spec.words import unknown

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


# Numbers in logs, finite or refused, in words that fit into an error message; cells of a line.


LONGEST_CELL = 2**24  # characters; names of kernels are the longest


def as_float(value: object) -> float:
    """Raises ValueError."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number")
    return number


def as_int(value: object) -> int:
    """Raises ValueError."""
    try:
        return int(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a whole number") from None


def cells_of(line: str) -> list[str]:
    """The cells of one line of CSV. Raises InputError: a cell is too long."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise InputError(f"{error}; must be a line of CSV: {line[:40]!r}") from None


# Facts the user adds because a log lacks them: ``dtype=bf16``, ``size=512MiB``, ``m=8192``.


KEYS = ("op", "size", "dtype", "m", "n", "k", "gpus")


def parse_assumptions(texts: Iterable[str]) -> dict[str, str]:
    """``KEY=VALUE`` texts, checked. Raises InputError."""
    assumed: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InputError(
                f"{text!r} is no assumption; write KEY=VALUE, as in dtype=bf16", "--assume"
            )
        if key not in KEYS:
            raise InputError(unknown("assumption", key, KEYS), "--assume")
        assumed[key] = _checked(key, value)
    return assumed


def _checked(key: str, value: str) -> str:
    if key == "op":
        if (op := collective_of(value)) is None:
            raise InputError(unknown("collective", value, OPS), "--assume op")
        return op
    if key == "dtype":
        if (dtype := dtype_of(value)) is None:
            raise InputError(
                unknown("data type", value, ("bf16", "fp16", "fp8", "fp32")), "--assume dtype"
            )
        return dtype
    if key == "size" and not value.isdigit():
        value = f"{parse_quantity(value, 'B'):.0f}"
    if not value.isdigit() or int(value) < 1:
        raise InputError(f"got {value!r}; must be a whole number above 0", f"--assume {key}")
    return str(int(value))


def assumed_gemm(assume: Mapping[str, str]) -> dict[str, Any] | None:
    """M, N, K and data type of a GEMM, when the user gave all four."""
    if not all(key in assume for key in ("m", "n", "k", "dtype")):
        return None
    return {**{key: int(assume[key]) for key in ("m", "n", "k")}, "dtype": assume["dtype"]}


def assumed_collective(assume: Mapping[str, str], op: str | None) -> dict[str, Any] | None:
    """Collective, size and data type, when the user gave them; *op* is what the log knows."""
    op = op or assume.get("op")
    if op is None or not all(key in assume for key in ("size", "dtype")):
        return None
    return {"op": op, "size": int(assume["size"]), "dtype": assume["dtype"]}
