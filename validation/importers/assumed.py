"""Facts the user adds because a log lacks them: ``dtype=bf16``, ``size=512MiB``, ``m=8192``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.input.units import parse_quantity

from .names import OPS, collective_of, dtype_of

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
