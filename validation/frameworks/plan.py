"""The cases of plans: of loops, which tasks run together, how they are released, in which order; of
GEMMs and their collectives, which schedule or operator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, TextIO


@dataclass(frozen=True)
class Case:
    """Contents of one loop: *tasks* by their roles, launched in *order*."""

    name: str
    mode: str
    tasks: dict[str, Any]
    order: list[str]


def cases_of(plan: dict[str, Any]) -> Iterator[Case]:
    """Every case of *plan*: each task alone first, once, then together."""
    written, alone = [*plan.get("cases", []), *_crossed(plan)], set[str]()
    for case in written:
        for role, task in _tasks(case).items():
            name = "_".join(str(value) for value in task.values())
            if name not in alone:
                alone.add(name)
                yield Case(f"alone_{name}", "alone", {role: task}, [role])
    for case in written:
        for mode in case.get("modes", plan["modes"]):
            for order in case.get("orders", plan["orders"]) if mode != "alone" else ():
                yield Case(f"{case['name']}.{'-'.join(order)}", mode, _tasks(case), order)


def _crossed(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every GEMM of ``factors`` beside every collective; the launch order alternates."""
    factors = plan.get("factors", {"gemm": {}, "collective": {}})
    pairs = product(factors["gemm"].items(), factors["collective"].items())
    for number, ((first, gemm), (second, collective)) in enumerate(pairs):
        order = ["gemm", "collective"]
        yield {
            "name": f"{first}_{second}",
            "gemm": gemm,
            "collective": collective,
            "orders": [order[::-1] if number % 2 else order],
        }


def _tasks(case: dict[str, Any]) -> dict[str, Any]:
    return {name: task for name, task in case.items() if isinstance(task, dict)}


def pieces_of(plan: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Every GEMM of *plan* by every mover, under every schedule."""
    for case in product(plan["gemms"], plan["by"], plan["schedules"]):
        yield dict(zip(("gemm", "by", "schedule"), case, strict=True))


def operators_of(plan: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Every GEMM of every operator of *plan*, every way."""
    for op, gemms in plan["gemms"].items():
        for gemm, way in product(gemms, plan["ways"]):
            yield {"op": op, "gemm": gemm, "way": way}


def groups(ranks: int, size: int = 0, stride: int = 1) -> list[list[int]]:
    """The groups of so many *ranks*, as a device mesh has them: *size* (0: all), *stride* apart.

    >>> groups(4, 2, 2)
    [[0, 2], [1, 3]]
    """
    size = size or ranks
    first = [rank for rank in range(ranks) if rank // stride % size == 0]
    return [[rank + number * stride for number in range(size)] for rank in first]


def write_line(
    file: TextIO, line: dict[str, Any], fill: Callable[[dict[str, Any]], object]
) -> None:
    """Add *line* to *file* with what *fill* puts into it, or the error; one case that fails costs
    no other.
    """
    try:
        fill(line)
    except Exception as error:
        line["error"] = f"{type(error).__name__}: {error}"[:300]
    file.write(json.dumps(line) + "\n")
    file.flush()
