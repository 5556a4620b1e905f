"""A what-if: DMA engines that reduce."""

import pytest

import c3sim

PAIR = {
    "schema": 1,
    "name": "pair",
    "tasks": {
        "gemm": {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "stream": "compute"},
        "reduce": {
            "kind": "collective",
            "op": "all_reduce",
            "size": "512 MiB",
            "stream": "communication",
        },
    },
}
RATE = {"gpu.dma_engines.reduce_bandwidth": "45 GB/s"}


def test_engines_that_cannot_reduce_say_so() -> None:
    with pytest.raises(c3sim.InputError, match="DMA engines copy and cannot reduce"):
        c3sim.run(c3sim.parse_workload(PAIR), strategy="conccl")


def test_an_all_reduce_moves_to_engines_that_can() -> None:
    """Two phases of size / 8 over each link: 2 x 64 MiB / 45 GB/s, 2.98 ms. Of the 28 commands, 5.5
    us of host time each, at most the first half lies before the last copy can begin. The result is
    marked as what it is.
    """
    result = c3sim.run(c3sim.parse_workload(PAIR), strategy="conccl", set=RATE)
    moving = 2 * 64 * 2**20 / 45e9
    assert moving < result.tasks["reduce"].isolated_s < moving + 14 * 5.5e-6 + 20e-6
    assert any(note.startswith("what-if: DMA engines that reduce") for note in result.notes)
    assert result.wall_s < c3sim.run(c3sim.parse_workload(PAIR), strategy="base").wall_s
