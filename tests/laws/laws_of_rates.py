"""Laws about rates: what an observer of the fluid layer sees of every flow at every instant."""

from __future__ import annotations

from math import ceil

import pytest
from law_nodes import limited
from law_observer import Snapshot, limit, most_drawn
from law_runs import REL, Trial, law, observed

from c3sim.engine.flow import Flow
from c3sim.models.capacity import Capacity
from c3sim.models.gemm import plan_gemm
from c3sim.spec.hardware import Node
from c3sim.spec.workload import ARRAYS, Gemm, StreamKernel


@law()
def rates_never_exceed_capacity(trial: Trial) -> None:
    """Nor does any flow exceed its own cap."""
    for snapshot in trial.seen.snapshots:
        for capacity, (drawn, users) in snapshot.drawn.items():
            most = limit(trial.node, capacity, users)
            assert drawn <= most * (1 + REL), (snapshot.time, capacity)
        for flow, rate in snapshot.rates:
            assert 0 <= rate <= _cap(flow, snapshot) * (1 + REL), (snapshot.time, flow.name)


def _cap(flow: Flow, snapshot: Snapshot) -> float:
    if not callable(flow.cap):
        return flow.cap
    return flow.cap(None if flow.domain is None else snapshot.states[flow.domain])


@law()
def every_flow_is_capped_or_has_a_bottleneck(trial: Trial) -> None:
    """Max-min fairness: a flow below its cap uses a full capacity, none of whose users is at a
    higher level.
    """
    for snapshot in trial.seen.snapshots:
        level = {flow: rate / flow.weight for flow, rate in snapshot.rates}
        highest = {
            capacity: max(level[user] for user in users)
            for capacity, (drawn, users) in snapshot.drawn.items()
            if drawn >= limit(trial.node, capacity, users) * (1 - REL)
        }
        for flow, rate in snapshot.rates:
            capped = rate >= _cap(flow, snapshot) * (1 - REL)
            assert capped or any(
                level[flow] >= highest[capacity] * (1 - REL)
                for capacity, _ in flow.amounts
                if capacity in highest
            ), (snapshot.time, flow.name)


@law()
def integral_of_rate_equals_work(trial: Trial) -> None:
    """From the records alone: what each flow did between its first rate and its end is what it had
    to do, and what the flows of a kernel did is all of its work: no tile is lost, none is done
    twice.
    """
    tasks, ended = trial.workload.tasks, trial.seen.ended_flows
    assert ended or all(task.kind == "host" for task in tasks.values())
    for flow, integral in ended:
        assert integral == pytest.approx(flow.work, rel=REL), flow.name
    for name, task in tasks.items():
        if isinstance(task, Gemm | StreamKernel):
            asked = sum(
                integral * amount
                for flow, integral in ended
                if flow.tags.task == name and flow.tags.gpu == 0
                for capacity, amount in flow.amounts
                if capacity == Capacity("gpu", 0, "l2")
            )
            expected = task.repeat * _asked_of_l2(trial.node, task)
            assert asked == pytest.approx(expected, rel=REL), name


def _asked_of_l2(node: Node, task: Gemm | StreamKernel) -> float:
    """Bytes that all workgroups of a kernel ask of L2: the arrays once; or per tile of a GEMM its
    rows of A, its columns of B (both K / split long) and its part of C, of which a split GEMM
    writes fp32 sums. A tile that only pads a cluster asks for nothing.
    """
    if isinstance(task, StreamKernel):
        return sum(ARRAYS[task.pattern]) * task.bytes * task.passes
    plan = plan_gemm(node.gpu, task)
    rows, columns = min(plan.tile[0], task.m), min(plan.tile[1], task.n)
    shared = rows / plan.cluster[1] + columns / plan.cluster[0]  # tiles of a cluster read it once
    operands = shared * task.k / plan.split_k * task.element
    tiles = plan.tiles
    if not task.rows:
        whole = ceil(task.m / plan.tile[0]) * ceil(task.n / plan.tile[1])
        tiles = whole * task.batch * plan.split_k
    return tiles * (operands + rows * columns * (task.result_element if plan.split_k == 1 else 4))


@law()
def power_stays_within_the_limit(trial: Trial) -> None:
    """Nor within half of what it leaves above idle power; the limit acts at once."""
    clock = trial.node.gpu.clock
    for part in (1.0, 0.5):
        node = limited(trial.node, clock.idle_power + part * (clock.power_limit - clock.idle_power))
        seen = trial.seen if node == trial.node else observed(node, trial.workload)[1]
        assert most_drawn(node, seen) <= 1 + 1e-6, part
