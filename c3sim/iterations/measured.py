"""A description of an iteration, run: its wall time, and where it went.

Layers are equal, so a few are simulated, twice: with a few and with a few more. What a layer adds
to any time or energy is the difference by the number of layers; all others are taken to add the
same.

An eager host runs ahead of the GPU as long as its launches take less than the GPU's work. Where
they take longer over the whole iteration, the run is simulated with the host in the loop, kernel by
kernel; else its part is left out, as that of a graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from c3sim.iterations.build import Model, Plan, build, plan
from c3sim.iterations.runs import Change, Numbers, Runs, launched
from c3sim.iterations.shares import with_bubbles
from c3sim.simulation.simulate import average_before
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Iteration
from c3sim.spec.models import Dlrm
from c3sim.spec.reading.checks.on_node import check_on_node

#: Layers of the two runs; the increment is steady once the first layers have filled the queues.
FEW, MORE = 2, 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The runs of a *few* layers and of *more*, and what they say of the whole iteration."""

    planned: Plan
    few: int
    more: int
    low: Runs
    high: Runs
    host_bound: bool

    @property
    def numbers(self) -> Numbers:
        """Figures of the whole iteration."""
        return self.whole(self.low.numbers, self.high.numbers)

    @property
    def waits_for_host(self) -> bool:
        """True if launches take longer than one pass, of all layers, comes out."""
        one = self.high.numbers
        if self.few != self.more:
            one = self.low.numbers.at(one, self.few, self.more, self.planned.own_layers)
        return one.host > one.wall

    def sharing(self, private: frozenset[str]) -> Numbers:
        """The same where tasks have the kinds of sharing *private* to themselves."""
        node = self.planned.node
        high = self.high.sharing(node, private)
        low = high if self.low is self.high else self.low.sharing(node, private)
        return self.whole(low, high)

    def whole(self, low: Numbers, high: Numbers) -> Numbers:
        """Figures of all layers, and of all micro batches of a pipeline."""
        if self.few != self.more:
            high = low.at(high, self.few, self.more, self.planned.own_layers)
        return of_all_batches(self.planned, high)


def of_all_batches(planned: Plan, one: Numbers) -> Numbers:
    """Times of all micro batches of a pipeline, if it is one, from *one* of all layers."""
    return one if planned.stages == 1 else in_pipeline(planned, one)


def in_pipeline(planned: Plan, one: Numbers) -> Numbers:
    """All micro batches, from *one* through a stage: each takes a turn, fill and drain take a turn
    for each further stage. The optimizer runs once, behind them.
    """
    batches = planned.micro_batches
    turns, last = batches + planned.stages - 1, one.busy["optimizer"]

    def with_bubble(time: float) -> float:
        return turns * (time - last) + last

    def each(times: dict[str, float]) -> dict[str, float]:
        return {name: t * (1 if name == "optimizer" else batches) for name, t in times.items()}

    wall = with_bubble(one.wall)
    return replace(
        one,
        wall=wall,
        parts=with_bubbles(one.parts, wall, batches),
        compute=with_bubble(one.compute),
        communication=turns * one.communication,
        stretched=turns * one.stretched,
        waited=turns * one.waited,
        busy=each(one.busy),
        exposed=each(one.exposed),
        account={
            name: batches * (joules - one.once.get(name, 0.0)) + one.once.get(name, 0.0)
            for name, joules in one.account.items()
        },
    )


def measure(
    iteration: Iteration,
    model: Model,
    node: Node,
    *,
    change: Change = lambda workload: workload,
    trace: bool = False,
    all_layers: bool = False,
) -> Measured:
    """*iteration* on *node*. *change*: of every workload that is simulated (a strategy, settings).
    *all_layers*: simulate every one. Raises InputErrors where it cannot run there.
    """
    planned = plan(iteration, model, node)
    layers = planned.own_layers
    few, more = layers_to_run(planned)
    if all_layers or layers <= more + 1:
        few = more = layers

    called = iteration.launch == "eager"

    def runs(few: int, more: int, *, eager: bool) -> Measured:
        built = build(planned, more)
        check_on_node(built.workload, node)
        average = average_before(node, change(launched(built.workload, eager=eager)))
        how: dict[str, Any] = {"eager": eager, "called": called, "average": average}
        low = last = Runs.of(node, built, change, **how, trace=trace)
        if few != more:
            low = Runs.of(node, build(planned, few), change, **how, trace=False)
        return Measured(planned=planned, few=few, more=more, low=low, high=last, host_bound=eager)

    measured = runs(few, more, eager=False)
    if called and measured.waits_for_host:
        measured = runs(few, more, eager=True)
        if measured.waits_for_host and more < layers:  # so few are bound by their head
            measured = runs(layers, layers, eager=True)
    return measured


def layers_to_run(planned: Plan) -> tuple[int, int]:
    """Layers of the two runs: enough for what is gathered ahead, behind those of other kinds; where
    kinds alternate, whole turns of them apart, as are all layers from the second run.
    """
    fsdp, model = planned.kinds.get("fsdp"), planned.model
    further = max(0, fsdp.prefetch - 1) if fsdp is not None else 0
    few, more = FEW + further, MORE + further
    if isinstance(model, Dlrm):
        return few, more
    turn = model.period
    first = model.dense_layers + (planned.own_layers - model.dense_layers) % turn
    few, more = -(-few // turn) * turn, -(-more // turn) * turn
    return first + few, first + (more if more > few else few + turn)
