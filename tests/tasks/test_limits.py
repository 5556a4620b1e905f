"""What limits a kernel, seen in its time alone, derived by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import c3sim
from c3sim.models.gemm import plan_gemm
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import NO_WORKLOAD, set_value
from c3sim.spec.workload import Gemm

H100, H200 = (load_node(name) for name in ("h100-1", "h200-1"))
MIB = 1 << 20


def time_of(node: Node, task: dict[str, object]) -> float:
    """Seconds of *task* alone, without the latencies around it: of two less that of one."""
    said = [{**task, "repeat": repeat} for repeat in (2, 1)]
    host = {"launch": "graph"}
    both = [c3sim.run({"tasks": {"a": each}, "host": host}, node=node).wall_s for each in said]
    return both[0] - both[1]


def test_a_part_of_memory_scales_with_memory() -> None:
    """A kernel that asks for four times a stream is bound by memory on both machines; one that
    gets half of what memory gives takes twice as long.
    """
    task = {"kind": "kernel", "read": 2048 * MIB, "stream_efficiency": 4}
    for node in (H100, H200):
        whole = time_of(node, task)
        given = node.gpu.hbm.bandwidth * node.gpu.hbm.read_efficiency
        assert whole == pytest.approx(2048 * MIB / given, rel=0.03)
        half = time_of(node, {**task, "memory_efficiency": 0.5})
        assert half == pytest.approx(2 * whole, rel=0.03)


def test_rows_that_l2_holds_are_read_from_memory_once() -> None:
    """A quarter is read again. Behind 20 MB, L2 of 62.9 and 52.4 MB finds nearly all of it, and
    only hits take time; behind 120 MB nothing, and memory gives a quarter more. Between them a set
    has lost a line by chance, the larger L2 fewer.
    """

    def longer(node: Node, far: float) -> float:
        accesses = [{"bytes": 1024 * MIB, "again": 0.25, "far": far}]
        task = {"kind": "kernel", "accesses": accesses, "stream_efficiency": 4, "workgroups": 2112}
        once = {"kind": "kernel", "read": 1024 * MIB, "stream_efficiency": 4, "workgroups": 2112}
        return time_of(node, task) / time_of(node, once)

    for node in (H200, H100):
        assert longer(node, 20e6) < longer(node, 55e6) < longer(node, 120e6)
        assert longer(node, 120e6) == pytest.approx(1.25, abs=0.005)
        assert longer(node, 20e6) < 1.15
    assert longer(H200, 55e6) < longer(H100, 55e6)


def test_memory_binds_a_gemm_of_few_rows() -> None:
    """16 stages of 80 rows of 128 B, 164 kB, are under way on each SM: through its port in 2560
    cycles, and 811 of latency, 63.8 B per cycle, 16.7 TB/s in all. That is far more than 0.905 of
    memory, 4.34 and 2.91 TB/s, which give 4.24 and 2.88 (exponent 2.2). 132 tiles of 64 columns
    read 554 MB in one round, behind 1.8 us before the first tile.
    """
    task = {"kind": "gemm", "m": 8, "n": 64 * 132, "k": 32768, "macro_tile": [16, 64]}
    for node, rate in ((H200, 4.24e12), (H100, 2.88e12)):
        expected = 2 * 64 * 132 * 32768 / rate + 1.8e-6
        assert time_of(node, task) == pytest.approx(expected, rel=0.03)


def warm_time(tile: tuple[int, int], rounds: int, depth: int, node: Node = H200) -> float:
    """Microseconds of so many rounds of a *tile*, K of *depth*, its operands warm."""
    rows, columns = tile
    task = {"kind": "gemm", "m": rows * rounds, "n": columns * 132, "k": depth}
    return 1e6 * time_of(node, {**task, "macro_tile": list(tile), "inputs": "warm"})


@pytest.mark.parametrize(
    ("tile", "depth", "us"),
    [
        ((256, 128), 64, 2.211),
        ((256, 128), 256, 3.878),
        ((128, 128), 64, 0.560),
        ((128, 128), 256, 1.167),
    ],
)
def test_results_leave_behind_their_tile_or_beside_the_next(
    tile: tuple[int, int], depth: int, us: float
) -> None:
    """A second round where neither memory nor L2 is a limit. Of 256 x 128 and K of 64 the matrix
    instructions take 2 * 256 * 128 * 64 / (4096 * 1980 MHz) = 0.517 us, the operands 384 * 128 B at
    242 GB/s, 0.203 us, both 0.556, and 65,536 B of results at 20 B per cycle 1.655: 2.211 us; with
    K of 256 2.222 + 1.655. A unit has two tiles of 128 x 128 by turns: 0.292 us and 0.827, both in
    a mean of 0.560; with K of 256 the results hide behind 1.167.
    """
    roomy = H200
    for path, value in (("gpu.hbm.bandwidth", "480 TB/s"), ("gpu.l2.bandwidth", "400 kB/cycle")):
        roomy, _ = set_value(roomy, NO_WORKLOAD, path, value)
    more = warm_time(tile, 2, depth, roomy) - warm_time(tile, 1, depth, roomy)
    assert more == pytest.approx(us, rel=0.01)


@pytest.mark.parametrize(
    ("tile", "us"), [((64, 64), 2.500), ((128, 128), 3.319), ((256, 128), 4.411)]
)
def test_one_round_by_hand(tile: tuple[int, int], us: float) -> None:
    """0.4 us behind the kernel before, 1.8 before the first tile, and products and results behind
    each other, as nothing is beside them: 0.094 + 0.207, 0.292 + 0.827, 0.556 + 1.655. Measured on
    one H200: kernels of 2.43, 3.36 and 4.45 us (validation/data/kernels/h200-gemm-depth).
    """
    assert warm_time(tile, 1, 64) == pytest.approx(us, rel=0.01)


@pytest.mark.parametrize("rows", [8, 16, 32])
def test_slices_of_few_rows_follow_each_other_in_a_time_of_their_own(rows: int) -> None:
    """72 tiles of 64 columns, K of 1024 more: 16 slices of 88 ns. At 242 GB/s the
    96 * 128 B of the widest take 51 ns. Measured: 82 to 88 ns each, with 16 tiles as with 72.
    """
    task = {"kind": "gemm", "m": rows, "n": 64 * 72, "inputs": "warm", "macro_tile": [rows, 64]}
    deep, flat = (time_of(H200, {**task, "k": depth}) for depth in (2048, 1024))
    assert deep - flat == pytest.approx(16 * 88e-9, rel=0.01)


def test_memory_binds_a_gemm_of_little_depth() -> None:
    """537 MB of results at 0.72 of 4.8 TB/s and of 0.96 of 3.35, 155.3 and 231.8 us, behind 0.4 and
    1.8 us. Measured: 171 and 212 us, 3.13 and 2.53 TB/s; what reads reach, 112 and 167 us, is far
    from that.
    """
    flat = {"kind": "gemm", "m": 16384, "n": 16384, "k": 64}
    for node, given in ((H200, 4.8e12), (H100, 0.96 * 3.35e12)):
        expected = 2 * 16384**2 / (0.72 * given) + 2.2e-6
        assert time_of(node, flat) == pytest.approx(expected, rel=0.015)


def test_results_of_a_gemm_leave_through_ports() -> None:
    """16384 x 16384 results of 2 bytes at 132 x 16 B per cycle of 1980 MHz take 128 us. Where
    memory has 10 TB/s, that is more than the products of tiles of 128 x 128 take, K of 64.
    """
    fast, _ = set_value(H200, NO_WORKLOAD, "gpu.hbm.bandwidth", "10 TB/s")
    flat = {"kind": "gemm", "m": 16384, "n": 16384, "k": 64, "macro_tile": [128, 128]}
    alone = 16384 * 16384 * 2 / (132 * 16 * 1.98e9)
    assert time_of(fast, flat) == pytest.approx(alone + 2.2e-6, rel=0.02)
    assert time_of(fast.changed(gpu__compute_units__store_bandwidth=None), flat) < 0.95 * alone


@pytest.mark.parametrize(("columns", "found"), [(5632, True), (6144, False), (14336, False)])
def test_weights_beyond_the_reach_of_a_sweep_are_gone(columns: int, found: bool) -> None:
    """16 rows, weights of 46, 50 and 117 MB over and over. The L2 of H200 has 62.9 MB, of which a
    sweep reaches 50.4: measured 9.3 us warm for 46 MB, and as long as in turn for 117 MB.
    """
    task = {"kind": "gemm", "m": 16, "n": columns, "k": 4096}
    warm, cold = (time_of(H200, {**task, "inputs": how}) for how in ("warm", "rotating"))
    assert (warm < 0.7 * cold) == found


def test_few_rows_stage_what_lds_holds() -> None:
    """(16 + 64) x 128 B are 10 KiB: 16 stages, the most there are; 256 + 128 rows 48 KiB: 4."""
    few = plan_gemm(H200.gpu, Gemm(kind="gemm", m=16, n=14336, k=4096))
    many = plan_gemm(H200.gpu, Gemm(kind="gemm", m=4096, n=4096, k=4096))
    assert (few.tile, few.stages) == ((16, 64), 16)
    assert sum(many.tile) >= 384 and many.stages == 4


def test_a_grade_is_of_its_own_file(tmp_path: Path) -> None:
    """A user's file that is like a measured node has not been measured."""
    assert H100.grade == "measured"
    own = tmp_path / "own.yaml"
    own.write_text("schema: 2\nlike: h100-1\nname: own\n", encoding="utf-8")
    assert load_node(own).grade is None
    gemm = {"tasks": {"g": {"kind": "gemm", "m": 64, "n": 64, "k": 64}}}
    assert any("data sheets" in note for note in c3sim.run(gemm, node="mi325x-8").notes)
