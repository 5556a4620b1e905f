"""A kernel that waits in its queue begins at once when the one before it ends."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of

from c3sim.simulation.run import Run
from c3sim.spec.reading.loading import load_node

NODE = load_node("h200-2")
KERNELS = NODE.gpu.kernels
GAP = KERNELS.back_to_back_latency or 0.0


def run(second: dict[str, Any], launch: str = "eager") -> Run:
    first = {"kind": "hold", "workgroups": 1, "time": "100 us", "stream": "compute"}
    tasks = {"first": first, "second": {**first, **second}}
    host = {"launch": launch}
    return run_of(tasks, NODE, host=host)


def gap(found: Run) -> float:
    return found.task("second").start - found.task("first").end


def test_behind_another_kernel_there_is_no_dispatch_to_wait_for() -> None:
    assert gap(run({})) == pytest.approx(GAP)


def test_one_that_is_launched_later_is_dispatched_anew() -> None:
    """Launched 200 us after the first: the queue has run dry."""
    late = run({"launch_time": "200 us"})
    launched = NODE.host.launch_time + 200e-6
    assert late.task("second").start == pytest.approx(launched + KERNELS.dispatch_latency)


def test_one_that_waits_for_a_kernel_of_another_stream_follows_it_too() -> None:
    """In one stream 1.2 to 1.8 us, by turns in two 1.4 to 2.3 (h100-kernel-gaps.csv)."""
    assert gap(run({"stream": "other", "after": ["first"]})) == pytest.approx(GAP)


def test_kernels_that_are_all_launched_ahead_follow_each_other() -> None:
    """From end to start a completion passes, which is in the first one's time, and the gap."""
    assert gap(run({}, launch="queued")) == pytest.approx(GAP)
    other = run({"stream": "other", "after": ["first"]}, launch="queued")
    assert gap(other) == pytest.approx(GAP)


def test_a_kernel_behind_a_copy_by_engines_is_dispatched_anew() -> None:
    copy = {"kind": "copy", "bytes": "1 MiB", "destination": "peer", "peer": 1, "gpus": "all"}
    hold = {"kind": "hold", "workgroups": 1, "time": "100 us", "after": ["first"]}
    tasks = {"first": {**copy, "stream": "copies"}, "second": hold}
    found = run_of(tasks, NODE)
    assert gap(found) == pytest.approx(KERNELS.dispatch_latency)
