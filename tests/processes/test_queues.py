"""Streams share hardware queues in launch order; what stands behind a waiting kernel waits too."""

from __future__ import annotations

import gzip
import json
from itertools import product
from typing import Any

import pytest
from made_workload import run_of, workload_of
from places import ROOT

from c3sim.simulation.run import Run
from c3sim.simulation.runs import run_once
from c3sim.spec.reading.loading import load_node

NODE = load_node("h200-1")
KERNELS = NODE.gpu.kernels
MEASURED = ROOT / "validation/data/kernels"


def run(tasks: dict[str, Any], queues: int | None, **host: Any) -> Run:
    told = {"queues": queues, **host} if queues else host
    return run_of(tasks, NODE, host=told)


def hold(stream: str, time: str = "100 us", **more: Any) -> dict[str, Any]:
    return {"kind": "hold", "workgroups": 1, "time": time, "stream": stream, **more}


TWO_CHAINS = {f"{s}{k}": hold(s) for s, k in product("ab", (1, 2))}


def test_one_queue_keeps_a_second_stream_behind_the_waiting_kernel_of_the_first() -> None:
    """a1 a2 b1 b2 in one queue: b1 stands behind a2, which waits for a1, and begins with it."""
    free, shared = run(TWO_CHAINS, 2), run(TWO_CHAINS, 1)
    assert free.task("b1").start == pytest.approx(free.task("a1").start, abs=1e-6)
    later = shared.task("b1").start - shared.task("a2").start
    assert later == pytest.approx(KERNELS.queue_issue_time, abs=KERNELS.dispatch_latency)
    assert shared.task("b1").start > shared.task("a1").end


def test_launched_by_breadth_one_queue_is_as_good_as_two() -> None:
    breadth = {name: TWO_CHAINS[name] for name in ("a1", "b1", "a2", "b2")}
    assert run(breadth, 1).end == pytest.approx(run(breadth, 2).end, abs=2e-6)


def test_streams_are_dealt_to_queues_in_the_order_of_their_first_launch() -> None:
    """Three streams, two queues: c is with a, and not with b."""
    tasks = {**TWO_CHAINS, "c1": hold("c")}
    found = run(tasks, 2)
    assert found.task("b1").start < found.task("a1").end < found.task("c1").start


def test_a_repeated_kernel_is_in_front_until_its_last_repeat() -> None:
    tasks = {"a": hold("a", repeat=3), "b": hold("b")}
    found = run(tasks, 1)
    assert found.task("b").start > found.task("a").start + 200e-6


def test_a_copy_by_engines_stands_in_a_queue_too() -> None:
    """As measured (queue_kinds.cu): 104 us behind two kernels in one queue, 28 us in its own."""
    copy = {"kind": "copy", "bytes": "1 MiB", "source": "host", "destination": "gpu", "stream": "b"}
    tasks = {"a1": hold("a"), "a2": hold("a"), "b1": copy}
    assert run(tasks, 2).task("b1").end < 40e-6
    assert run(tasks, 1).task("b1").start > run(tasks, 1).task("a1").end


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_measured_chains(gpu: str) -> None:
    """Rows of 9 and of 33 streams, none of which the two times were read from, within 15 %: 8 and
    32 queues have a stream too many, so that of its chain all but the first kernel come after.
    """
    with gzip.open(MEASURED / f"{gpu}-queues.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        if row["length"] == 1 or row["streams"] not in (9, 33) or row["kernel_us"] == 20:
            continue
        pairs = list(product(range(row["streams"]), range(row["length"])))
        pairs = pairs if row["order"] == "depth" else sorted(pairs, key=lambda p: (p[1], p[0]))
        time = f"{row['kernel_us']} us"
        tasks = {f"k{s}-{k}": hold(f"s{s}", time, waves=1) for s, k in pairs}
        found = run(tasks, int(row["connections"]))
        took = found.end - min(each.start for each in found.times.values())
        measured = 1e-6 * (row["us"] - min(row["starts_us"]))
        assert took == pytest.approx(measured, rel=0.15), row


def test_one_queue_makes_the_order_of_launches_that_of_starts() -> None:
    """An all-gather launched before a product that fills the GPU: where ranks take their streams up
    in any order, one rank whose product came first makes all of them wait. In one queue nobody's
    does: eight of eight begin with the all-gather.
    """
    node = load_node("h200-8")
    gemm = {"kind": "gemm", "m": 8192, "n": 3584, "k": 4096, "stream": "compute"}
    gather = {"kind": "collective", "op": "all_gather", "size": "64 MiB", "stream": "comm"}
    tasks = {"gather": gather, "gemm": gemm, "next": {**gemm, "after": ["gather"]}}

    def wall(**host: Any) -> float:
        return run_once(node, workload_of(tasks, node="h200-8", host=host)).end

    in_order = wall()
    assert wall(release="per_rank") > 1.15 * in_order
    assert wall(release="per_rank", queues=1) == pytest.approx(in_order, rel=0.01)
