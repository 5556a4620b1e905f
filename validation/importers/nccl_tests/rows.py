"""Records from the rows of nccl-tests and rccl-tests, whatever form the output has.

``size`` is that of nccl-tests, the full buffer per GPU, as in the workload schema.
"""

from __future__ import annotations

from typing import Any

from ..collector import Collector, us
from ..names import DTYPES, OP_TASKS, OP_WORDS, OPS, collective_of, dtype_of, size_text
from .header import check_ranks
from .run import Row, Run, Timing

RATE_TOLERANCE, RATE_ROUNDING = 0.02, 0.006  # algbw [GB/s] has two decimals, time as many


def add_row(collector: Collector, run: Run, row: Row) -> None:
    """A record for each timing of *row*."""
    check_ranks(run, row, collector)
    run.rows += 1
    op = collective_of(run.executable)
    dtype = dtype_of(row.dtype)
    if op is None:
        what = f"{run.executable!r} is no collective of"
        reason = f"{what} the workload schema; it has: {', '.join(OPS)}"
    elif dtype is None:
        what = f"data type {row.dtype!r} is not in"
        reason = f"{what} the workload schema; it has: {', '.join(sorted(set(DTYPES.values())))}"
    elif row.size == 0:
        reason = "size 0 moves nothing"
    else:
        for timing in row.timings:
            _add_timing(collector, run, row, timing, op, dtype)
        return
    collector.leave_out("row", reason, row.line)


def _add_timing(
    collector: Collector, run: Run, row: Row, timing: Timing, op: str, dtype: str
) -> None:
    place = "in-place" if timing.in_place else "out-of-place"
    if timing.wrong.upper() not in ("N/A", "") and float(timing.wrong) > 0:
        reason = "the results were wrong (#wrong is above 0)"
        unknown = "so nothing is known about a correct run"
        collector.leave_out(f"{place} measurement", f"{reason}, {unknown}", row.line)
        return
    if timing.algbw is not None and timing.time > 0:
        rate = row.size / timing.time / 1e3
        if abs(rate - timing.algbw) > RATE_TOLERANCE * max(rate, timing.algbw) + RATE_ROUNDING:
            message = f"but size and time give {rate:.4g}; one of them is damaged"
            collector.broken(f"{place} algbw is {timing.algbw:g} GB/s, {message}", row.line)
            return
    graph = run.settings.get("graph", "0") not in ("0", "")
    launch = "queued" if graph else "looped"
    where = ", in place" if timing.in_place else ""
    name = f"{OP_WORDS[op]} {size_text(row.size)}{where}{', graph' if graph else ''}"
    collector.add(
        suite=f"{run.backend}_tests_{op}",
        workload={
            "name": name,
            "tasks": {OP_TASKS[op]: _task(run, row, op, dtype)},
            "host": {**({"threads": "single"} if run.one_thread else {}), "launch": launch},
        },
        measured={"isolated": {OP_TASKS[op]: us(timing.time)}},
        software=", ".join(run.versions) or f"{run.backend}-tests, version not in the log",
        facts=_facts(run),
        samples=int(run.settings.get("iters", "0")) or None,
        note=_note(row),
        line=row.line,
        gpus=run.gpus,
    )


def _task(run: Run, row: Row, op: str, dtype: str) -> dict[str, Any]:
    task: dict[str, Any] = {
        "kind": "collective",
        "op": op,
        "size": row.size,
        "dtype": dtype,
        "backend": run.backend,
    }
    channels = row.channels or run.channels
    if channels:
        task["channels"] = channels
    if row.algorithm.lower() in ("ring", "tree", "direct"):
        task["algorithm"] = row.algorithm.lower()
    if row.protocol:
        task["protocol"] = row.protocol.lower()
    return task


def _note(row: Row) -> str:
    parts = ["mean over a loop that launches iterations back to back"]
    if row.algorithm and row.algorithm.lower() not in ("ring", "tree", "direct"):
        parts.append(f"algorithm {row.algorithm}, for which the schema has no name")
    if row.redop and row.redop.lower() not in ("sum", "none"):
        parts.append(f"reduction {row.redop}")
    return "; ".join(parts)


def _facts(run: Run) -> str:
    devices = f"{run.gpus} x {run.device or 'GPU'}" if run.gpus else run.device
    keys = {
        "nThread": "threads",
        "nGpus": "GPUs per thread",
        "warmup": "warm-up iterations",
        "iters": "iterations",
    }
    settings = [f"{run.settings[key]} {text}" for key, text in keys.items() if key in run.settings]
    return ", ".join([*([devices] if devices else []), *settings])
