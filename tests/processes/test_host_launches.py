"""Kernels that the host launches from the release on: when they can start."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of
from shapes import TEACHING

from c3sim.errors import InputErrors
from c3sim.spec.hardware import HostProfile, Node
from c3sim.spec.reading.checks.on_node import check_on_node

US = 1e-6
GEMM = {"kind": "gemm", "m": 256, "n": 256, "k": 256}


def with_enqueue_time(seconds: float | None) -> Node:
    """The teaching node, the first GEMM library of which costs the host *seconds* per call."""
    libraries = dict(TEACHING.gpu.gemm_libraries)
    name = next(iter(libraries))
    libraries[name] = libraries[name].changed(enqueue_time=seconds)
    return TEACHING.changed(gpu__gemm_libraries=libraries)


def end(node: Node, launch: str) -> float:
    return run_of({"g": GEMM}, node, host={"launch": launch}).end


@pytest.mark.parametrize(("seconds", "host"), [(44 * US, 44 * US), (0.0, 0.0), (None, None)])
def test_an_eager_gemm_waits_for_the_call_of_its_library(
    seconds: float | None, host: float | None
) -> None:
    """Nothing else runs: the GEMM ends later by the call, one launch where the library gives none.
    In a queue that is full before the release the call costs nothing.
    """
    node = with_enqueue_time(seconds)
    call = node.host.launch_time if host is None else host
    assert end(node, "eager") - end(node, "queued") == pytest.approx(call, abs=1e-12)
    assert end(node, "queued") == end(TEACHING, "queued")


def test_a_framework_has_calls_of_its_own_and_an_idle_gpu_is_slow_to_start() -> None:
    """Two GEMMs in one stream, launched by a thread that needs 10 us each; the GPU takes up what it
    is called for 5 us later. The second call ends at 20 us and is seen at 25, long after the first
    GEMM began; without the delay the last end would come those 5 us earlier.
    """
    profile = HostProfile(launch_time=10 * US, enqueue_time=0.0, start_latency=5 * US)
    node = with_enqueue_time(None).changed(host_profiles={"slow": profile})
    tasks = {name: {**GEMM, "stream": "s"} for name in ("a", "b")}
    run = run_of(tasks, node, host={"launch": "eager", "profile": "slow"})
    one = run.task("a").end - run.task("a").start
    assert run.task("a").start == pytest.approx((10 + 5) * US + node.gpu.kernels.dispatch_latency)
    begun = max((20 + 5) * US, run.task("a").end)
    assert run.task("b").end == pytest.approx(begun + node.gpu.kernels.dispatch_latency + one)


def test_a_framework_calls_for_each_peer_and_works_around_a_copy() -> None:
    """30 us for any collective, 2 more for each peer of an all-to-all; a launch of 10 us and 3 more
    for a copy. Nothing else runs, so each starts when its call has ended.
    """
    profile = HostProfile(
        launch_time=10 * US,
        enqueue_time=30 * US,
        start_latency=0.0,
        send_time=2 * US,
        copy_time=3 * US,
    )
    node = TEACHING.changed(host_profiles={"framework": profile})
    move = {"kind": "collective", "size": 1024}
    copy = {"kind": "copy", "bytes": 1024, "destination": "gpu", "executor": "kernel"}
    calls = {
        30 + 2 * (node.ranks - 1): move | {"op": "all_to_all"},
        30: move | {"op": "all_gather"},
        10 + 3: copy,
        10: GEMM,
    }
    for call, task in calls.items():
        host = {"launch": "eager", "profile": "framework"}
        found = run_of({"t": task}, node, host=host).task("t").start
        assert found == pytest.approx(call * US + node.gpu.kernels.dispatch_latency), task


@pytest.mark.parametrize(("said", "times"), [(None, 3.0), (1.5, 1.5)])
def test_a_slow_host_takes_longer_for_calls_and_its_gpu_does_not(
    said: float | None, times: float
) -> None:
    """A call of 10 us on a host three times as slow, or as slow as the workload says; the GPU takes
    it up 5 us later all the same.
    """
    profile = HostProfile(slowness=3.0, launch_time=10 * US, enqueue_time=0.0, start_latency=5 * US)
    node = with_enqueue_time(None).changed(host_profiles={"slow": profile})
    host = {"launch": "eager", "profile": "slow", "slowness": said}
    start = run_of({"g": GEMM}, node, host=host).task("g").start
    assert start == pytest.approx((10 * times + 5) * US + node.gpu.kernels.dispatch_latency)


@pytest.mark.parametrize("slowness", [None, 2.0])
def test_a_frameworks_collective_starts_later_behind_what_it_waits_for(
    slowness: float | None,
) -> None:
    """3 us behind each GEMM that an all-reduce waits for, however slow the host is; no kernel, and
    no copies by engines, wait longer.
    """
    reduce = {"kind": "collective", "op": "all_reduce", "size": "64 KiB", "after": ["a"]}
    tasks = {"a": GEMM, "reduce": reduce, "b": {**GEMM, "after": ["reduce"]}}
    moves = {**tasks, "reduce": {**reduce, "op": "all_gather", "backend": "dma"}}
    profile = HostProfile(launch_time=0.0, enqueue_time=0.0, start_latency=0.0)
    slow = profile.changed(collective_latency=3 * US)

    def wall(profile: HostProfile, tasks: dict[str, Any]) -> float:
        node = with_enqueue_time(0.0).changed(host_profiles={"own": profile})
        host = {"launch": "graph", "profile": "own", "slowness": slowness}
        return run_of(tasks, node, host=host).end

    assert wall(slow, tasks) - wall(profile, tasks) == pytest.approx(3 * US, abs=1e-12)
    assert wall(slow, moves) == wall(profile, moves)


def test_slowness_is_of_a_profile() -> None:
    with pytest.raises(InputErrors, match=r"host\.slowness.*needs host\.profile"):
        check_on_node(workload_of({"g": GEMM}, host={"slowness": 2}), TEACHING)


def test_a_profile_that_the_node_lacks_is_refused() -> None:
    with pytest.raises(InputErrors, match="unknown host profile 'slow'"):
        check_on_node(workload_of({"g": GEMM}, host={"profile": "slow"}), TEACHING)


def test_events_around_a_task_of_a_loop_are_the_hosts_work() -> None:
    """The thread launches twice, 10 us each, then works 300 us for the product's events and 200 us
    for the all-reduce's: their ends are seen at 320 and 520 us, by when both kernels have ended.
    Alone the all-reduce is seen at 10 + 200 us; a single shot has no events, and so no wait.
    """
    profile = HostProfile(
        launch_time=10 * US,
        enqueue_time=10 * US,
        start_latency=0.0,
        event_times={"gemm": 300 * US, "communication": 200 * US},
    )
    node = with_enqueue_time(None).changed(host_profiles={"slow": profile})
    reduce = {"kind": "collective", "op": "all_reduce", "size": "4 KiB"}
    host: dict[str, Any] = {"launch": "eager", "profile": "slow"}
    loop = {"iterations": 9, "barrier": True, "begin": "call"}

    def ends(tasks: dict[str, Any], **more: Any) -> dict[str, float]:
        run = run_of(tasks, node, host={**host, **more})
        return {name: run.task(name).end for name in tasks}

    both = ends({"reduce": reduce, "gemm": GEMM}, loop=loop)
    assert both == pytest.approx({"reduce": 520 * US, "gemm": 320 * US})
    assert ends({"reduce": reduce}, loop=loop) == pytest.approx({"reduce": 210 * US})
    assert ends({"reduce": reduce})["reduce"] < 100 * US


def test_a_script_that_changes_streams_in_a_loop_launches_later() -> None:
    """The thread needs 10 us for each launch, and 30 between two in different streams, in a loop
    and nowhere else; a slower host longer for both.
    """
    profile = HostProfile(
        launch_time=10 * US, enqueue_time=0.0, start_latency=0.0, stream_time=30 * US
    )
    node = with_enqueue_time(None).changed(host_profiles={"slow": profile})
    tasks = {name: {**GEMM, "stream": name} for name in ("a", "b")}
    host: dict[str, Any] = {"launch": "eager", "profile": "slow"}
    loop = {"iterations": 9, "barrier": True, "begin": "call"}

    def begins(**more: Any) -> list[float]:
        run = run_of(tasks, node, host={**host, **more})
        return [run.task(name).start - run.task("a").start for name in tasks]

    assert begins(loop=loop) == pytest.approx([0.0, 40 * US])
    assert begins() == pytest.approx([0.0, 10 * US])
    assert begins(loop=loop, slowness=2.0) == pytest.approx([0.0, 80 * US])
