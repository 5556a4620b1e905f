"""Workloads made in Python, as a file would have them, with the same errors.

    gather = collective("all_gather", 896 * 2**20)
    pair = Workload({"gemm": gemm(8192, 8192, 8192), "gather": gather})

A task is a mapping as in a file, so more of them and other kinds need no function here. A plain
number of bytes is fine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.input.loading import LoadedIteration, parse_iteration, parse_workload
from c3sim.specs import workload as specs

__all__ = ["Workload", "collective", "copy", "gemm", "hold", "stream_kernel"]

TaskFields = dict[str, Any]


def Workload(  # it reads as the class whose instance it gives
    tasks: Mapping[str, Mapping[str, Any]], *, name: str = "workload", **fields: Any
) -> specs.Workload:
    """A workload of *tasks*, by name; *fields*: as in a file (``node``, ``streams``, ``host`` ...).

    Raises InputErrors: every mistake, as of a file.
    """
    return parse_workload({"schema": 1, "name": name, **fields, "tasks": dict(tasks)})


def gemm(m: int, n: int, k: int, **fields: Any) -> TaskFields:
    """C[m, n] = A[m, k] B[k, n]; *fields*: dtype, batch, stream, after ..."""
    return {"kind": "gemm", "m": m, "n": n, "k": k, **fields}


def collective(op: str, size: float | str, **fields: Any) -> TaskFields:
    """*op* over all GPUs; *size*: bytes of the full buffer of a GPU, or a text with a unit."""
    return {"kind": "collective", "op": op, "size": size, **fields}


def copy(bytes: float | str, **fields: Any) -> TaskFields:
    """A copy, to the next GPU where *fields* (source, destination, executor ...) say no other."""
    return {"kind": "copy", "bytes": bytes, **fields}


def stream_kernel(bytes: float | str, **fields: Any) -> TaskFields:
    """A kernel that goes over memory; *bytes* of one array, *fields*: pattern, passes ..."""
    return {"kind": "stream", "bytes": bytes, **fields}


def hold(workgroups: int, time: str, **fields: Any) -> TaskFields:
    """*workgroups* that each hold a compute unit for *time*, a text such as ``"1 ms"``."""
    return {"kind": "hold", "workgroups": workgroups, "time": time, **fields}


def from_mapping(given: Mapping[str, Any]) -> specs.Workload | LoadedIteration:
    """What ``run`` takes as a mapping: a workload, or an iteration where it says ``kind:
    iteration``; schema and name may be left out. Raises InputErrors.
    """
    whole = {"schema": 1, **given}
    if whole.get("kind") == "iteration":
        return parse_iteration({"name": "iteration", **whole})
    return parse_workload({"name": "workload", **whole})
