"""Losses of an overlap, by cause: the parts add up to the loss, and none of them is a gain.

W - S = sum of parts + together - hidden - whole        (docs/model.md)
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from made_workload import workload_of

from c3sim.evaluation.losses import losses
from c3sim.result import Losses
from c3sim.simulation.runs import isolated, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import set_value
from c3sim.spec.schedules import expanded, whole
from c3sim.spec.workload import Workload

pytestmark = pytest.mark.turns(5)

GAIN = 0.015  # of the wall time: so much shorter may a run be with a cost than without it
SCHEDULES: Mapping[str, Mapping[str, object]] = {
    "hetero": {"steps": "hetero", "pieces": 16},
    "uniform": {"steps": "uniform", "pieces": 16},
    "not fused": {"steps": "hetero", "fused": False, "pieces": 16},
    "parts of K": {"shape": "2d", "pieces": 16},
}
NODES = ("mi300x-8", "mi355x-8", "h200-4", "teaching-4")


def pair(schedule: Mapping[str, object], backend: str | None, op: str = "all_gather") -> Workload:
    """A collective of 32 MiB that feeds a GEMM, or that it feeds."""
    move = {"kind": "collective", "op": op, "size": "32 MiB", "stream": "move"}
    gemm: dict[str, object] = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "stream": "gemm"}
    move |= {"backend": backend} if backend else {}
    (gemm if op == "all_gather" else move)["after"] = ["move" if op == "all_gather" else "gemm"]
    tasks = {"move": move, "gemm": gemm}
    return workload_of(tasks, schedule=dict(schedule))


def lost(node: Node, given: Workload) -> tuple[Losses | None, float]:
    """The losses of *given*, and its wall time [s]."""
    tasks = expanded(given, node)
    wall = run_once(node, tasks).end
    return losses(node, tasks, wall, pair=whole(given), serial=0.0), wall


def check(found: Losses, wall: float) -> None:
    """Serial time and wall are those of other runs; the parts add up; none is a gain."""
    parts = sum(found.parts_s.values())
    assert found.lost_s == pytest.approx(wall - found.serial_s)
    sum_of_all = parts + found.together_s - found.hidden_s - found.whole_s
    assert sum_of_all == pytest.approx(found.lost_s, abs=1e-9 * wall)
    for cause, cost in found.parts_s.items():
        assert cost >= -GAIN * wall, cause
    assert found.hidden_s >= -GAIN * wall
    assert found.whole_s >= -GAIN * wall
    # removals one by one say most of it: no two causes are the same one twice
    assert abs(found.together_s) <= 0.5 * parts


QUICK = ("teaching-4",)
#: Half of all combinations, in which every two of node, schedule and backend meet; long but on one.
MET = [
    pytest.param(name, schedule, backend, marks=[] if name in QUICK else pytest.mark.long)
    for i, name in enumerate(NODES)
    for j, schedule in enumerate(SCHEDULES)
    for k, backend in enumerate(("dma", None))
    if (i + j + k) % 2
]


@pytest.mark.parametrize(("name", "schedule", "backend"), MET)
def test_parts_add_up_to_the_loss_and_none_is_a_gain(
    name: str, schedule: str, backend: str | None
) -> None:
    node = load_node(name)
    found, wall = lost(node, pair(SCHEDULES[schedule], backend))
    if found is None:  # it gains, or loses nothing to speak of
        one = whole(pair(SCHEDULES[schedule], backend))
        assert wall < 1.01 * sum(isolated(node, one, task).end for task in one.tasks)
        return
    check(found, wall)


@pytest.mark.parametrize("name", ["mi300x-8", "h200-4"])
def test_behind_a_gemm_too(name: str) -> None:
    node = load_node(name)
    found, wall = lost(node, pair(SCHEDULES["uniform"], None, "reduce_scatter"))
    check(found, wall)


def test_finer_pieces_lose_more_to_decomposition() -> None:
    node = load_node("mi300x-8")
    several = [lost(node, pair({"pieces": pieces}, None))[0] for pieces in (8, 16, 32)]
    costs = [each.parts_s["decomposition"] for each in several if each is not None]
    assert len(costs) == 3 and costs == sorted(costs)


def test_engines_leave_the_compute_units() -> None:
    node = load_node("mi300x-8")
    by_engines, _ = lost(node, pair(SCHEDULES["parts of K"], "dma"))
    by_channels, wall = lost(node, pair(SCHEDULES["parts of K"], None))
    assert by_engines.parts_s.get("compute_units", 0.0) < 1e-3 * wall
    assert by_channels.parts_s["compute_units"] > 0.01 * wall
    assert "packets" not in by_channels.parts_s


def test_what_calls_cost_is_called_packets() -> None:
    """16 pieces for seven peers each are 112 calls, one by one. Where a call takes 100 us nothing
    else counts, and 10 us more are 1.12 ms more, all of them packets.
    """
    node, given = load_node("mi300x-8"), pair(SCHEDULES["uniform"], "dma")
    found, walls = [], []
    for call in ("100 us", "110 us"):
        slow, _ = set_value(node, given, "host.copy_time", call)
        each, wall = lost(slow, given)
        assert next(iter(each.parts_s)) == "packets"
        found.append(each.parts_s["packets"])
        walls.append(wall)
    assert walls[1] - walls[0] == pytest.approx(112 * 10e-6, rel=0.02)
    assert found[1] - found[0] == pytest.approx(walls[1] - walls[0])


def test_tails_are_what_the_last_rounds_leave_idle() -> None:
    """The teaching GPU has 14 units. The whole GEMM has 28 tiles of 128 x 128, two full rounds; of
    four pieces of its rows each has seven, which leave half of the units idle: it takes a round
    where a half would do. Tails are half of the four GEMMs, as nothing else takes long.
    """
    tasks = {
        "move": {"kind": "collective", "op": "all_gather", "size": "16 KiB", "stream": "move"},
        "gemm": {"kind": "gemm", "m": 28 * 128, "n": 128, "k": 8192, "stream": "gemm"},
    }
    tasks["gemm"] |= {"macro_tile": [128, 128], "after": ["move"]}
    given, node = workload_of(tasks, schedule={"pieces": 4}), load_node("teaching-4")
    # no tile waits for memory or for the clock
    for path, value in {"gpu.clock.power_limit": "1 kW", "gpu.hbm.bandwidth": "10 TB/s"}.items():
        node, _ = set_value(node, given, path, value)
    found, wall = lost(node, given)
    check(found, wall)
    gemm = isolated(node, expanded(given, node), "gemm-0").end
    assert found.parts_s["tails"] == pytest.approx(4 * gemm / 2, rel=0.1)
    assert found.whole_s == pytest.approx(0.0, abs=0.01 * wall)  # two full rounds have no tail
