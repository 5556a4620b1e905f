"""The recorder, and energy and counters derived from it, by hand and on a run."""

from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from made_workload import run_of, workload_of

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.engine.recorder import Recorder, Segment, clock_of
from c3sim.machine.energy import Bill, flow_powers, idle_energy, task_accounts
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node

NODE = load_node("mi300x-8")
SIZE = 896 * 2**20
TASKS = {
    "gemm": {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096},
    "gather": {"kind": "collective", "op": "all_gather", "size": SIZE, "backend": "dma"},
}


def tags(task="t", bill=None, units=0.0):
    """The tags of a flow that energy and counters read."""
    return SimpleNamespace(task=task, gpu=0, bill=bill or Bill(), compute_units=units)


def integral(counter, values=None):
    values = counter.values if values is None else values
    return sum(
        value * (b - a) for value, (a, b) in zip(values, pairwise(counter.times), strict=False)
    )


def recorded(tasks=TASKS, fold=None):
    recorder = Recorder()
    workload = workload_of(tasks)
    return simulate(NODE, workload, observers=(recorder,), fold=fold, trace=True), recorder


@pytest.fixture(scope="module")
def run():
    return recorded()


# By hand


def two_flows():
    """10 B/s shared by flows of 20 and 10 B: 5 B/s each until 2 s, then 10 B/s for the 10 B left,
    until 3 s.
    """
    env, recorder = Clock(), Recorder()
    fluid = Fluid(env, (recorder,))
    fluid.capacity("gpu0.x", 10.0)
    flows = [
        Flow(name, work, amounts=[("gpu0.x", 1.0)], tags=tags(name))
        for name, work in (("a", 20.0), ("b", 10.0))
    ]
    for flow in flows:
        fluid.start(flow, lambda _flow: None)
    return env, fluid, flows, recorder


def test_segments_are_the_piecewise_constant_rates():
    env, _, (a, b), recorder = two_flows()
    env.run()
    assert recorder.segments() == [
        Segment(a, 0.0, 2.0, 5.0, 1.0),
        Segment(a, 2.0, 3.0, 10.0, 1.0),
        Segment(b, 0.0, 2.0, 5.0, 1.0),
    ]


def test_a_flow_taken_out_ends_when_it_was():
    env, fluid, (_, b), recorder = two_flows()
    env.run(until=1.0)
    assert fluid.stop(b) == 5.0
    env.run()
    assert [s for s in recorder.segments() if s.flow is b] == [Segment(b, 0.0, 1.0, 5.0, 1.0)]


def test_energy_follows_rate_clock_and_units_held():
    """At factor f = 1/2, x = 1: 5 B/s (2 f^1 + 1) J/B + 12 W of held CUs f^2 + 4 W of an engine =
    10 + 3 + 4 = 17 W; for 2 s 34 J, each part under its name.
    """
    gpu = NODE.gpu.changed(clock__voltage_exponent=1.0)
    bill = Bill(core=(("l2_byte", 2.0),), uncore=((0, "hbm_byte", 1.0),), held=12.0, busy=4.0)
    segment = Segment(Flow("a", 10.0, tags=tags(bill=bill)), 1.0, 3.0, 5.0, 0.5)
    assert sum(watts for _, _, watts in flow_powers(gpu, 0, segment)) == 17.0
    account = {"l2_byte": 10.0, "hbm_byte": 10.0, "compute_unit": 6.0, "dma_engine": 8.0}
    assert task_accounts(gpu, [segment]) == {"t": account}


def test_every_gpu_takes_idle_power():
    assert idle_energy(NODE, 2.0) == pytest.approx(8 * 2.0 * NODE.gpu.clock.idle_power, rel=1e-15)


def test_a_clock_factor_may_come_in_a_record():
    class State(NamedTuple):
        clock: float
        memory: float

    assert clock_of(0.75) == clock_of(State(0.75, 0.5)) == 0.75


# On a run


def test_the_integral_of_every_rate_is_the_work(run):
    done = {}
    for segment in run[1].segments():
        done[segment.flow] = done.get(segment.flow, 0.0) + segment.rate * (
            segment.end - segment.start
        )
    assert done
    for flow, amount in done.items():
        assert amount == pytest.approx(flow.work, rel=1e-9)


def test_observing_changes_nothing(run):
    assert run_of(TASKS, NODE).end == run[0].end


def test_links_and_engines_carry_the_bytes_of_the_gather(run):
    """Each GPU sends its eighth to seven peers: SIZE / 8 per link, 7/8 SIZE in all; DMA adds
    nothing to the payload. A link also answers what comes the other way, as much again.
    """
    on_link = SIZE / 8 * (1 + NODE.links.reverse_share)
    found = {counter.name: counter for counter in run[0].timeline.counters}
    links = [counter for name, counter in found.items() if ".link[" in name]
    assert len(links) == 7
    for link in links:
        assert integral(link) == pytest.approx(on_link, rel=1e-9)
        assert integral(link, link.by_task["gather"]) == pytest.approx(on_link, rel=1e-9)
    assert integral(found["gpu0.dma"]) == pytest.approx(SIZE * 7 / 8, rel=1e-9)
    assert set(found["gpu0.compute_units"].by_task) == {"gemm"}


def test_no_counter_exceeds_its_maximum(run):
    for counter in run[0].timeline.counters:
        assert counter.maximum is not None
        # the clock is set from what flows declare; what they then draw may differ from it by a per
        # cent
        slack = 0.01 if counter.name.endswith("power") else 1e-9
        assert max(counter.values) <= counter.maximum * (1 + slack), counter.name


def test_the_parts_by_task_add_up(run):
    for counter in run[0].timeline.counters:
        base = NODE.gpu.clock.idle_power if counter.name == "gpu0.power" else 0.0
        for i, value in enumerate(counter.values):
            if counter.by_task:
                assert base + sum(part[i] for part in counter.by_task.values()) == pytest.approx(
                    value, rel=1e-12
                )
            if counter.by_component:
                parts = [part[i] for part in counter.by_component.values()]
                assert sum(parts) == pytest.approx(value, rel=1e-12)


def test_the_clock_is_a_counter_within_its_range(run):
    clock = next(c for c in run[0].timeline.counters if c.name == "gpu0.clock")
    assert clock.unit == "Hz"
    assert (
        NODE.gpu.clock.minimum <= min(clock.values) <= max(clock.values) <= NODE.gpu.clock.maximum
    )


def test_folded_and_unfolded_runs_take_the_same_energy():
    folded, unfolded = (recorded(fold=fold)[0] for fold in (True, False))
    for task in TASKS:
        each = [sum(run.account_of(task).values()) for run in (folded, unfolded)]
        assert each[0] == pytest.approx(each[1], rel=1e-9)
