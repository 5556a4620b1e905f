"""Launches of an iteration, from a host profile's times of calls."""

from __future__ import annotations

from typing import Any

import pytest
from iteration_case import described, run_described

from c3sim.iterations.build import Built, build, plan
from c3sim.spec.hardware import Node
from c3sim.spec.host import CallTime, HostProfile, StepTime
from c3sim.spec.reading.loading import load_hardware

US = 1e-6
NODE = load_hardware("h200-2").node
#: An unlike time for each call, so that a wrong one shows.
TIMES = {
    "linear": CallTime(forward=20 * US, recorded=30 * US, backward=70 * US),
    "view": CallTime(forward=1 * US, recorded=2 * US, backward=4 * US),
    "normalisation": CallTime(forward=15 * US, recorded=16 * US, backward=40 * US),
    "layer": CallTime(forward=5 * US, recorded=6 * US, backward=7 * US),
}


def node_with(**fields: Any) -> Node:
    plain = {"launch_time": 10 * US, "enqueue_time": 30 * US, "start_latency": 0.0}
    profile = HostProfile.model_validate({**plain, **fields})
    return NODE.changed(host_profiles={"own": profile})


def built_on(node: Node, **fields: Any) -> Built:
    loaded = described(node="h200-2", profile="own", **fields)
    return build(plan(loaded.iteration, loaded.model, node), 1)


@pytest.mark.parametrize(("phase", "product"), [("forward", 20), ("training", 30)])
def test_a_call_costs_more_where_gradients_are_wanted(phase: str, product: float) -> None:
    """A query's product has a view and a transpose; without times of calls it is one launch."""
    node = node_with(call_times=TIMES)
    tasks = built_on(node, layers=1, phase=phase).workload.tasks
    view = 1 if phase == "forward" else 2
    assert tasks["forward1-q"].launch_time == pytest.approx((product + 2 * view) * US)
    # a call that the profile does not know costs a launch
    assert tasks["forward1-silu"].launch_time == pytest.approx(10 * US)
    plain = built_on(node_with(), layers=1, phase=phase).workload.tasks
    assert plain["forward1-q"].launch_time == pytest.approx(10 * US)


def test_a_slow_host_takes_longer_for_every_call() -> None:
    """Optimizer, hooks of sharded layers and collectives among them; what a description says of
    this host comes before what a profile says of any.
    """
    times = {"call_times": TIMES, "gather_time": 200 * US, "reduce_time": 300 * US}
    times["optimizer_times"] = {"adamw_foreach": StepTime(step=100 * US, tensor=10 * US)}
    fields = {"layers": 1, "optimizer": "adamw", "parallel": {"kind": "fsdp"}}
    host = built_on(node_with(**times), **fields).host
    assert built_on(node_with(**times, slowness=1.5), **fields).host == pytest.approx(1.5 * host)
    known = built_on(node_with(**times, slowness=1.5), slowness=2.0, **fields)
    assert known.host == pytest.approx(2 * host)
    assert known.workload.host.slowness == 2.0


def test_a_node_of_the_graph_is_one_call_of_several_kernels() -> None:
    """Both gradients of a product take what its backward call takes, so do those of a norm."""
    tasks = built_on(node_with(call_times=TIMES), layers=1).workload.tasks
    of_q = [tasks[f"backward1-q-{part}"].launch_time for part in ("input", "weight")]
    of_norm = [tasks[f"backward1-norm2-{part}"].launch_time for part in ("input", "weight")]
    assert sum(time or 0.0 for time in of_q) == pytest.approx(70 * US)
    assert sum(time or 0.0 for time in of_norm) == pytest.approx(40 * US)
    assert tasks["backward1-attention-convert"].launch_time == 0


def test_a_step_of_the_optimizer_grows_with_its_tensors() -> None:
    """A layer of Llama has nine: 100 us and 3 us each."""
    times = {"adamw_foreach": StepTime(step=100 * US, tensor=3 * US)}
    tasks = built_on(node_with(optimizer_times=times), layers=1, optimizer="adamw").workload.tasks
    step = [task.launch_time for name, task in tasks.items() if name.startswith("optimizer")]
    assert len(step) == 8 and sum(time or 0.0 for time in step) == pytest.approx(127 * US)
    other = built_on(node_with(optimizer_times=times), layers=1, optimizer="lamb").workload.tasks
    # 218112000 numbers are 11 kernels of 320 workgroups with 65536 each
    assert other["optimizer-lamb-square"].launch_time == pytest.approx(110 * US)


def test_hooks_of_sharded_layers_are_no_part_of_their_collectives() -> None:
    """Communication alone is the calls of its library. A shard's copy is six kernels."""
    node = node_with(reduce_time=400 * US, gather_time=300 * US)
    tasks = built_on(node, layers=1, parallel={"kind": "fsdp"}).workload.tasks
    assert tasks["reduce1-scatter"].launch_time == pytest.approx(30 * US)
    assert tasks["reduce1-copy-in"].launch_time == pytest.approx(410 * US)
    assert tasks["gather-1-copy-in"].launch_time == pytest.approx(360 * US)


def test_communication_alone_is_without_the_framework_around_a_call() -> None:
    """A tensor-parallel layer's function costs the host 1 ms here, in the iteration only."""
    run = {}
    for name, time in (("quick", 0.0), ("slow", 1000 * US)):
        node = node_with(exchange_time=time)
        fields = {"node": "h200-2", "profile": "own", "parallel": {"kind": "tensor"}}
        loaded = described(layers=2, tokens=128, phase="forward", **fields)
        run[name] = run_described(loaded, node, settings={})
    assert run["slow"].host_s > run["quick"].host_s + 4 * 0.99e-3  # four all-reduces
    assert run["slow"].communication_s == run["quick"].communication_s
