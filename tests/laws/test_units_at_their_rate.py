"""What compute units give follows from who is on them, not from who could be."""

from __future__ import annotations

from typing import Any

import pytest
from law_cases import NODES, parsed
from law_nodes import without_power_limit
from law_observer import Recorder

from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node

TASKS: dict[str, dict[str, Any]] = {
    "stream": {"kind": "stream", "pattern": "copy", "bytes": "64 MiB", "workgroups": 200},
    "copy": {
        "kind": "copy",
        "destination": "gpu",
        "executor": "kernel",
        "bytes": "64 MiB",
        "workgroups": 200,
    },
    "gemm": {"kind": "gemm", "m": 4096, "n": 4096, "k": 512},
    "kernel": {"kind": "kernel", "read": "64 MiB", "workgroups": 200, "per_unit": 4},
}


def _held_bits(node: Node) -> tuple[int, int]:
    """First and last mask bit of units that are held: all but two of each engine. Where engines
    take turns in order, as many of each, so that all are dealt out: larger ones keep one more.
    """
    dies = node.gpu.dies
    row = dies.count * len(dies.shader_engines)
    in_order = dies.dispatch == "weighted_rotation"
    rows = min(dies.shader_engines) if in_order else max(dies.shader_engines)
    return 2 * row, min(node.gpu.compute_unit_count, rows * row) - 1


def _masked(node: Node, task: dict[str, Any]) -> dict[str, Any]:
    (first, last), units = _held_bits(node), node.gpu.compute_unit_count
    mask = f"0-{first - 1}" + (f",{last + 1}-{units - 1}" if last + 1 < units else "")
    return {"tasks": {"it": {**task, "stream": "s"}}, "streams": {"s": {"compute_units": mask}}}


def _held(node: Node, task: dict[str, Any]) -> dict[str, Any]:
    """The other units are held, one by each workgroup, for longer than *task* takes."""
    first, last = _held_bits(node)
    hold = {"kind": "hold", "workgroups": last - first + 1, "time": "100 s", "stream": "h"}
    streams = {"h": {"compute_units": f"{first}-{last}"}, "s": {}}
    return {
        "tasks": {"hold": hold, "it": {**task, "stream": "s"}},
        "streams": streams,
        "host": {"order": ["hold", "it"]},
    }


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("name", ["teaching-4", "h200-8", "mi300x-8"])
def test_masked_equals_held(name: str, kind: str) -> None:
    """The same units left: the same time."""
    node = NODES[name]
    masked, held = (
        simulate(node, parsed(kind, case(node, TASKS[kind]))).task("it").end
        for case in (_masked, _held)
    )
    assert masked == pytest.approx(held, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "kind", "left"),
    [
        *(("h200-8", "kernel", left) for left in (1, 3, 8)),
        *(("mi300x-8", kind, left) for kind in ("gemm", "kernel") for left in (38, 152)),
    ],
)
def test_masked_equals_held_unit_by_unit(name: str, kind: str, left: int) -> None:
    """Any units do, where each of the others is held by a task of its own; that GEMMs of H200 are
    in clusters only without a mask is told in decisions/109. Power is without a limit, since held
    units draw some.
    """
    node = without_power_limit(NODES[name])
    task = {**TASKS[kind], "stream": "s"}
    masked = {"tasks": {"it": task}, "streams": {"s": {"compute_units": f"0-{left - 1}"}}}
    others = {f"h{unit}": str(unit) for unit in range(left, node.gpu.compute_unit_count)}
    holds = {h: {"kind": "hold", "workgroups": 1, "time": "1 s", "stream": h} for h in others}
    held = {
        "tasks": {**holds, "it": task},
        "streams": {"s": {}, **{h: {"compute_units": unit} for h, unit in others.items()}},
        "host": {"order": [*holds, "it"]},
    }
    ends = [simulate(node, parsed("it", case)).task("it").end for case in (masked, held)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


@pytest.mark.parametrize("kind", ["stream", "copy"])
@pytest.mark.parametrize("name", ["teaching-4", "h200-8", "mi300x-8"])
@pytest.mark.parametrize("workgroups", [1, 3, 32])
def test_no_unit_passes_its_rate(name: str, kind: str, workgroups: int) -> None:
    """Through the port of the only unit that a mask leaves to any number of workgroups."""
    node = NODES[name]
    case = {
        "tasks": {"it": {**TASKS[kind], "workgroups": workgroups, "stream": "s"}},
        "streams": {"s": {"compute_units": "0"}},
    }
    seen = Recorder()
    simulate(node, parsed(kind, case), observers=[seen])
    units = node.gpu.compute_units
    port = max(units.l2_bandwidth, units.read_bandwidth) * node.gpu.clock.maximum
    moved = max(
        sum(rate * flow.tags.traffic.l2 for flow, rate in snapshot.rates if flow.tags.gpu == 0)
        for snapshot in seen.snapshots
    )
    assert 0 < moved <= port * (1 + 1e-9)


def test_few_workgroups_behind_a_kernel_stay_on_the_units_that_come_free_first() -> None:
    """A hold has all units. 32 workgroups that wait for it, eight of which fit on a unit, fill the
    first unit that is free, then the next: four units. On an idle GPU they spread over 32.

    So they have an eighth of the rate, but for what they slowed memory and L2 by: 32 units ask for
    half of what memory gives.
    """
    node = NODES["h200-8"]
    units = node.gpu.compute_unit_count
    task = {"kind": "kernel", "read": "64 MiB", "workgroups": 32, "per_unit": 8, "stream": "s"}
    hold = {"kind": "hold", "workgroups": units, "time": "10 us", "stream": "h"}
    case = {
        "tasks": {"hold": hold, "it": task},
        "streams": {"h": {}, "s": {}},
        "host": {"order": ["hold", "it"]},
    }
    alone = simulate(node, parsed("alone", {"tasks": {"it": task}, "streams": {"s": {}}}))
    behind = simulate(node, parsed("behind", case))
    usual, packed = (run.task("it").end - run.task("it").start for run in (alone, behind))
    assert 0.85 * 8 < packed / usual < 8
