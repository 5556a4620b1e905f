"""Lines of L1 that stream kernels find where they begin."""

from __future__ import annotations

from typing import Any

import pytest

from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_hardware, parse_workload

NODE = load_hardware("h200-1").node
READ = {"kind": "stream", "pattern": "read", "bytes": "64 MB", "stream": "s"}


def time_of(task: dict[str, Any], before: dict[str, Any] | None = None) -> float:
    """Seconds from the first workgroup of *task*, behind *before*, to its end."""
    tasks = {"it": task} if before is None else {"before": {**before, "stream": "b"}, "it": task}
    said = {"schema": 1, "name": "w", "tasks": tasks, "host": {"order": list(tasks)}}
    run = simulate(NODE, parse_workload(said)).task("it")
    return run.end - run.start


def test_a_kernel_that_claims_no_shared_memory_has_more_under_way() -> None:
    """65536 bytes against 29696. Turns, cycles: latency 811, port 464 and 1024: 832 and 1105. Rates
    35.7 and 59.3 B per cycle: 1.66 times, but for launch and the load of memory.
    """
    whole = time_of({**READ, "workgroups": 1, "lds": "0 B"})
    claimed = time_of({**READ, "workgroups": 1})
    assert claimed / whole == pytest.approx(59.3 / 35.7, rel=0.02)


def test_units_that_come_free_keep_the_lines_that_the_kernel_before_left() -> None:
    """Two of eight workgroups share a unit (1024 threads of 32 registers) behind a hold that has
    all shared memory: 29 KiB of lines for both. Alone each has a unit, and 64 KiB under way.
    """
    units = NODE.gpu.compute_unit_count
    task = {**READ, "workgroups": 8, "lds": "0 B"}
    hold = {"kind": "hold", "workgroups": units, "time": "30 us"}
    assert time_of(task, hold) / time_of(task) == pytest.approx(2 * 59.3 / 35.7, rel=0.05)


def test_workgroups_stay_on_few_units_behind_clusters_too() -> None:
    """Tiles of cuBLAS come in clusters of two, so engines are told apart; a unit that comes free
    still takes two of eight readers. Behind a GEMM of one round the read took 1000 us of 268 MB on
    one H200, as four units do at 67 GB/s; with a unit for each it is half of that.
    """
    read = {**READ, "bytes": "268 MB", "workgroups": 8, "lds": "0 B"}
    gemm = {"kind": "gemm", "m": 13312, "n": 13312, "k": 160}
    assert 800e-6 < time_of(read, gemm) < 1050e-6


def test_who_began_together_ends_together_and_leaves_a_whole_unit() -> None:
    """264 workgroups, two on each SM, all placed at once. Eight readers behind them take four SMs,
    two each, as behind kernels that have a whole SM; behind 300, where those of an SM began at
    different times, each takes what one workgroup left.
    """
    room = {"kind": "kernel", "threads": 128, "registers": 184, "lds": "87360 B", "time": "40 us"}
    read = {**READ, "workgroups": 8, "lds": "0 B"}
    together = time_of(read, {**room, "workgroups": 264})
    apart = time_of(read, {**room, "workgroups": 300})
    assert together > 1.5 * apart


def test_a_read_beside_a_gemm_feels_what_memory_carries() -> None:
    """A GEMM of few rows carries 0.9 of memory, whatever others wait. Measured on one H200: a copy
    of 96 MiB by 10 workgroups, 16 us before it, takes 273 us, alone 216 (fifth blind plan; 227 here
    while memory was as full as what the GEMM asks for alone).
    """
    copy = {"kind": "stream", "pattern": "copy", "bytes": 96 << 20, "workgroups": 10, "lds": "0 B"}
    gemm = {"kind": "gemm", "m": 28, "n": 24576, "k": 7168, "stream": "b", "after": ["late"]}
    late = {"kind": "kernel", "workgroups": 1, "lds": "0 B", "time": "10 us", "stream": "b"}
    tasks = {"copy": {**copy, "stream": "s"}, "late": late, "gemm": gemm}
    run = simulate(NODE, parse_workload({"schema": 1, "name": "w", "tasks": tasks}))
    assert run.task("copy").end == pytest.approx(273e-6, rel=0.08)
