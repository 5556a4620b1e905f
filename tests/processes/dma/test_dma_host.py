"""Copies from and to host memory: what the host thread writes itself, and the memory of all GPUs.

Teaching node: calls of 5 us, a batch 4 us and 0.5 us for each of its copies; 5 us of engine
latency.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of
from shapes import TEACHING

from c3sim.spec.hardware import Node
from c3sim.spec.host import HostProfile

US = 1e-6
BLOCK = {"kind": "copy", "bytes": "10 kB", "source": "host", "destination": "gpu"}


def end(task: dict[str, Any], node: Node, fold: bool | None = None, **host: Any) -> float:
    return run_of({"t": task}, node, host=host, fold=fold).end / US


def with_host(**update: object) -> Node:
    return TEACHING.changed(host=TEACHING.host.changed(**update))


@pytest.mark.parametrize(
    ("change", "how", "longer"),
    [
        ({}, {}, 10),
        ({"bytes": "11 kB"}, {}, 0),  # too long: the engine fetches it
        ({"source": "gpu", "destination": "host"}, {}, 0),
        ({}, {"prelaunched": True}, 0),  # its bytes may still change
        ({"repeat": 4}, {"submission": "batch"}, 40),
        ({"repeat": 4}, {"submission": "one_by_one"}, 10),  # the queue is idle for the first only
    ],
)
def test_the_host_writes_small_blocks_into_an_idle_queue(
    change: dict[str, Any], how: dict[str, Any], longer: float
) -> None:
    """10 kB at 1 GB/s take 10 us of the thread."""
    inline = with_host(inline_bytes=10e3, inline_bandwidth=1e9)
    task = {**BLOCK, **change}
    assert end(task, inline, **how) - end(task, TEACHING, **how) == pytest.approx(longer)


@pytest.mark.parametrize("fold", [True, False])
def test_all_gpus_share_host_memory(fold: bool) -> None:
    """Four GPUs over links of 10 GB/s each; memory gives 20 GB/s to read, takes 16 GB/s to write: 2
    and 2.5 times as long.
    """
    node = with_host(link_bandwidth=10e9, memory_read_bandwidth=20e9, memory_write_bandwidth=16e9)
    wide = with_host(link_bandwidth=10e9)
    for task, times in (
        ({**BLOCK, "bytes": "1 MB", "gpus": "all"}, 2.0),
        ({**BLOCK, "bytes": "1 MB", "gpus": "all", "source": "gpu", "destination": "host"}, 2.5),
    ):
        alone = end(task, wide, fold, prelaunched=True)
        assert end(task, node, fold, prelaunched=True) == pytest.approx(alone + (times - 1) * 100)
        assert end({**task, "gpus": "first"}, node, prelaunched=True) == pytest.approx(alone)


def test_a_copy_within_a_gpu_begins_later() -> None:
    node = TEACHING.changed(gpu__dma_engines__local_latency=3e-6)
    task = {"kind": "copy", "bytes": "1 MB", "source": "gpu", "destination": "gpu"}
    assert end(task, node) - end(task, TEACHING) == pytest.approx(3)
    there = {"kind": "copy", "bytes": "1 MB"}
    assert end(there, node) == pytest.approx(end(there, TEACHING))


def test_a_framework_s_calls_launch_copies_too() -> None:
    """Eight blocks, each a call: 20 us of a launch and 4 of the operator around a copy, in place of
    the 5 us of the runtime. A batch is a call of the runtime.
    """
    profile = HostProfile(launch_time=20e-6, copy_time=4e-6, enqueue_time=0, start_latency=0)
    node = TEACHING.changed(host_profiles={"slow": profile})
    task = {**BLOCK, "repeat": 8}
    for submission, longer in (("one_by_one", 8 * (24 - 5)), ("batch", 0)):
        runtime, framework = (
            end(task, node, submission=submission, profile=each) for each in (None, "slow")
        )
        assert framework - runtime == pytest.approx(longer)
