"""Lines of L1 that stream kernels find where they begin."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of

from c3sim.spec.reading.loading import load_node

NODE = load_node("h200-1")
READ = {"kind": "stream", "pattern": "read", "bytes": "64 MB", "stream": "s"}


def time_of(task: dict[str, Any], before: dict[str, Any] | None = None) -> float:
    """Seconds from the first workgroup of *task*, behind *before*, to its end."""
    tasks = {"it": task} if before is None else {"before": {**before, "stream": "b"}, "it": task}
    run = run_of(tasks, NODE, host={"order": list(tasks)}).task("it")
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


def test_a_kernel_may_set_aside_more_than_its_workgroups_need() -> None:
    """Two of 85 KiB leave 60 KiB of lines; behind a kernel that asked for all, two readers on a
    unit share 29. Measured behind cuDNN's attention of one token: 34 GB/s each.
    """
    room = {"kind": "kernel", "threads": 128, "registers": 184, "lds": "87360 B", "time": "40 us"}
    read = {**READ, "workgroups": 8, "lds": "0 B"}
    needs = time_of(read, {**room, "workgroups": 264})
    asks = time_of(read, {**room, "workgroups": 264, "set_aside": "227 KiB"})
    assert asks / time_of(read) == pytest.approx(2 * 59.3 / 35.7, rel=0.05)
    assert needs < 0.7 * asks


def test_who_waits_for_many_short_workgroups_has_a_unit_each() -> None:
    """Of 8192 rows, one on a unit, the last ones end at about one time, those of 264 do not.
    Measured: 144 MiB by 16 workgroups take 205 us behind such a softmax, 208 alone.
    """
    read = {**READ, "workgroups": 16, "lds": "0 B"}
    rows = {"kind": "kernel", "threads": 1024, "registers": 40, "read": "270 MB"}
    assert time_of(read, {**rows, "workgroups": 8192}) == pytest.approx(time_of(read), rel=0.1)
    assert time_of(read, {**rows, "workgroups": 264}) > 1.5 * time_of(read)


def beside(first: dict[str, Any], second: dict[str, Any]) -> tuple[float, float]:
    """When both end [s], the second 10 us later."""
    late = {"kind": "kernel", "workgroups": 1, "per_unit": 64, "lds": "0 B", "time": "10 us"}
    tasks = {"late": {**late, "stream": "b"}, "second": {**second, "stream": "b"}}
    run = run_of({"first": {**first, "stream": "s"}, **tasks}, NODE)
    return run.task("first").end, run.task("second").end


def test_kernels_that_share_a_unit_share_its_port() -> None:
    """A read of 512 MiB by 24 workgroups beside GELU of 304 MiB, on the same SMs, ended after 344
    us on one H200 (305 here, 283 if each had a port of its own), and goes on at its own rate once
    that is over: twice as much longer by what it takes alone.
    """
    read = {"kind": "stream", "pattern": "read", "workgroups": 24, "lds": "0 B"}
    size, on = 304 << 20, {"stream_efficiency": 1.2, "dependent_loads": 1}
    gelu = {"kind": "kernel", "read": size, "written": size, "flops": 13.9e9, **on}
    once = beside({**read, "bytes": 512 << 20}, gelu)[0]
    assert 295e-6 < once < 350e-6
    longer = beside({**read, "bytes": 1024 << 20}, gelu)[0] - once
    more = time_of({**read, "bytes": 1024 << 20}) - time_of({**read, "bytes": 512 << 20})
    assert longer == pytest.approx(more, rel=0.02)


def test_a_stream_of_several_rounds_does_all_of_them_whoever_comes_and_goes() -> None:
    """2640 readers, ten for each place: as much is read beside another kernel, and the bytes of
    both are what memory carries, at no more than its 4.8 TB/s.
    """
    read = {"kind": "stream", "pattern": "read", "workgroups": 2640, "lds": "0 B"}
    read = {**read, "bytes": 512 << 20}
    plain = {"kind": "kernel", "read": 160 << 20, "written": 160 << 20}
    first, second = beside(read, plain)
    alone, more = time_of(read), time_of(plain | {"stream": "s"})
    assert alone < first and more < second
    assert max(first, second) > (832 << 20) / 4.8e12
    assert max(first, second) < 1.1 * (alone + more)


def test_kernels_whose_waves_compute_between_loads_are_no_company() -> None:
    """Nobody measured in which part of the time a workgroup that goes by steps loads."""
    read = {"kind": "stream", "pattern": "read", "workgroups": 24, "lds": "0 B"}
    read = {**read, "bytes": 512 << 20}
    plain = {"kind": "kernel", "read": 304 << 20, "written": 304 << 20, "per_unit": 16}
    by_steps = beside(read, {**plain, "workgroups": 132 * 16 * 64})[0]
    assert by_steps < beside(read, plain)[0]


def test_a_read_beside_a_gemm_feels_what_memory_carries() -> None:
    """A GEMM of few rows carries 0.9 of memory, whatever others wait. Measured on one H200: a copy
    of 96 MiB by 10 workgroups, 16 us before it, takes 273 us, alone 216 (fifth blind plan; 227 here
    while memory was as full as what the GEMM asks for alone).
    """
    copy = {"kind": "stream", "pattern": "copy", "bytes": 96 << 20, "workgroups": 10, "lds": "0 B"}
    gemm = {"kind": "gemm", "m": 28, "n": 24576, "k": 7168, "stream": "b", "after": ["late"]}
    late = {"kind": "kernel", "workgroups": 1, "lds": "0 B", "time": "10 us", "stream": "b"}
    tasks = {"copy": {**copy, "stream": "s"}, "late": late, "gemm": gemm}
    run = run_of(tasks, NODE)
    assert run.task("copy").end == pytest.approx(273e-6, rel=0.08)


@pytest.mark.parametrize("port", (4, 8))
def test_stores_that_l2_takes_leave_by_the_ports_of_units(port: int) -> None:
    """A pass of 8 MiB that L2 has: 8 MiB / (132 units x *port* B x 1.98 GHz) = 8.0 and 4.0 us."""
    node = NODE.changed(gpu__compute_units__port__store_bandwidth=float(port))

    def end(passes: int) -> float:
        write = {"kind": "stream", "pattern": "write", "bytes": "8 MiB", "inputs": "warm"}
        tasks = {"s": {**write, "passes": passes}}
        return run_of(tasks, node).end

    a_pass = (1 << 23) / (132 * port * 1.98e9)
    assert (end(40) - end(20)) / 20 == pytest.approx(a_pass, rel=0.05)
