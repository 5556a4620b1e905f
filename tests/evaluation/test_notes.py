"""Notes of a result: what is said of its power is of each GPU, and its advice can be followed."""

from __future__ import annotations

import re

import pytest
from made_workload import workload_of

import c3sim

GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}


def power_notes(result: c3sim.Result) -> list[str]:
    return [note for note in result.notes if note.startswith("takes ")]


def test_the_power_of_many_nodes_is_told_of_one_gpu():
    """128 nodes of 8 GPUs: the energy is that of all 1024, and none of them is above a limit that
    acts at once.
    """
    result = c3sim.run("all-reduce-across-nodes", set={"scale_out.nodes": 128})
    each = result.energy_j / result.wall_s / (128 * 8)
    assert each < 750 < 128 * each and power_notes(result) == []


def test_more_than_the_limit_is_the_power_of_one_gpu():
    result = c3sim.run(
        workload_of({"gemm": GEMM}, node="h200-2"), set={"gpu.clock.power_window": "20 ms"}
    )
    (note,) = power_notes(result)
    found = re.match(r"takes (\d+) W per GPU, .* an average over 20 ms; a loop is slower", note)
    assert found and float(found[1]) == pytest.approx(result.energy_j / result.wall_s / 2, rel=0.01)


def test_where_the_window_is_zero_already_nobody_is_told_to_set_it():
    """A limit below what idle GPUs take: the lowest clock is above it too."""
    result = c3sim.run(
        workload_of({"gemm": GEMM}, node="mi300x-8"), set={"gpu.clock.power_limit": "150 W"}
    )
    (note,) = power_notes(result)
    assert note.endswith("more than the limit of 150 W, which the lowest clock does not reach")


def test_a_jitter_that_does_nothing_is_said():
    """One event lets all ranks begin; only ranks that begin by themselves can be late."""
    late = {"workload.host.jitter": "100 us"}
    run = c3sim.run("gemm-beside-all-gather", set=late)
    assert any(note.startswith("jitter does nothing") for note in run.notes)
    by_rank = c3sim.run("gemm-beside-all-gather", set={**late, "workload.host.release": "per_rank"})
    assert not any("does nothing" in note for note in by_rank.notes)


def test_memory_is_that_of_all_tasks_and_told_where_it_is_not_there():
    """By hand: three matrices of 8192^2 numbers of 2 bytes, and a buffer of 64 MiB. Three streams
    over 80 GiB fit into 192 GiB one by one, not side by side.
    """
    gather = {"kind": "collective", "op": "all_gather", "size": "64 MiB"}
    tasks = {"gemm": {**GEMM, "dtype": "bf16"}, "gather": gather}
    fits = c3sim.run({"tasks": tasks}, node="mi300x-8")
    assert fits.memory_bytes == 3 * 8192**2 * 2 + 64 * 2**20
    assert not any("share buffers" in note for note in fits.notes)
    load = {"kind": "stream", "bytes": "80 GiB", "pattern": "read", "stream": "s"}
    loads = {f"load{number}": load for number in range(3)}
    large = c3sim.run({"tasks": loads}, node="mi300x-8")
    assert [note for note in large.notes if "share buffers" in note] == [
        "warning: tasks work on 240 GiB per GPU, which has 192 GiB; they fit only if they share"
        " buffers"
    ]


def test_channels_that_a_small_message_does_not_fill_are_told():
    """NCCL gives 256 KiB among 8 ranks 8 of 24 channels (decision 112), 64 MiB all of them."""
    small = c3sim.run("all-gather-alone", node="h200-8", set={"task.gather.size": "256 KiB"})
    said = "gather takes 8 of 24 channels, as many as a message of this size fills"
    assert said in small.notes
    large = c3sim.run("all-gather-alone", node="h200-8", set={"task.gather.size": "64 MiB"})
    assert not any("channels" in note for note in large.notes)
