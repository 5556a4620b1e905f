"""What limits a kernel, seen in its time alone, derived by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import c3sim
from c3sim.models.gemm import plan_gemm
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.workload import Gemm

H100, H200 = (load_hardware(name).node for name in ("h100-1", "h200-1"))
MIB = 1 << 20


def time_of(node: Node, task: dict[str, object]) -> float:
    """Seconds of *task* alone, without the latencies around it: of two less that of one."""
    said = [{**task, "repeat": repeat} for repeat in (2, 1)]
    named = {"schema": 1, "name": "alone", "host": {"launch": "graph"}}
    both = [c3sim.run({**named, "tasks": {"a": each}}, node=node).wall_s for each in said]
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
    read 554 MB in one round, behind a prologue of 2 us that no other tile hides.
    """
    task = {"kind": "gemm", "m": 8, "n": 64 * 132, "k": 32768, "macro_tile": [16, 64]}
    for node, rate in ((H200, 4.24e12), (H100, 2.88e12)):
        expected = 2 * 64 * 132 * 32768 / rate + 2e-6
        assert time_of(node, task) == pytest.approx(expected, rel=0.03)


def test_results_of_a_gemm_leave_through_ports() -> None:
    """16384 x 16384 results of 2 bytes at 132 x 16 B per cycle of 1980 MHz take 128 us; with
    little K that is more than its operands and products take, and memory slows it further.
    """
    flat = {"kind": "gemm", "m": 16384, "n": 16384, "k": 64}
    alone = 16384 * 16384 * 2 / (132 * 16 * 1.98e9)
    assert alone < time_of(H200, flat) < time_of(H100, flat)
    free = H200.gpu.compute_units.model_copy(update={"store_bandwidth": None})
    gpu = H200.gpu.model_copy(update={"compute_units": free})
    assert time_of(H200.model_copy(update={"gpu": gpu}), flat) < time_of(H200, flat)


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
    assert load_hardware(own).node.grade is None
    gemm = {"schema": 1, "name": "g", "tasks": {"g": {"kind": "gemm", "m": 64, "n": 64, "k": 64}}}
    assert any("data sheets" in note for note in c3sim.run(gemm, node="mi325x-8").notes)
