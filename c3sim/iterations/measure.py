"""A description of an iteration, run: its wall time, and where it went.

Layers are equal, so a few are simulated, twice: with a few and with a few more. What a layer adds
to any time or energy is the difference by the number of layers; all others are taken to add the
same.

An eager host runs ahead of the GPU as long as its launches take less than the GPU's work. Where
they take longer over the whole iteration, the run is simulated with the host in the loop, kernel by
kernel; else its part is left out, as that of a graph.
"""

from __future__ import annotations

from typing import Any

from c3sim.input.checks.on_node import check_on_node
from c3sim.iterations.build import Model, Plan, build, plan
from c3sim.iterations.memory import memory_bytes
from c3sim.iterations.result import ClassTime, IterationResult
from c3sim.iterations.runs import Change, Numbers, Runs, launched
from c3sim.iterations.times import CLASSES
from c3sim.machine.energy import IDLE, by_component, components_of
from c3sim.result import TaskResult
from c3sim.simulation.simulate import average_before
from c3sim.specs.hardware import Node
from c3sim.specs.iteration import Iteration
from c3sim.specs.workload import Collective, Workload

#: Layers of the two runs; the increment is steady once the first layers have filled the queues.
FEW, MORE = 2, 4


def run_iteration(
    iteration: Iteration,
    model: Model,
    node: Node,
    *,
    strategy: str = "as_written",
    change: Change = lambda workload: workload,
    trace: bool = False,
    all_layers: bool = False,
) -> IterationResult:
    """*iteration* on *node*. *change*: of every workload that is simulated (a strategy, settings).
    *all_layers*: simulate every one. Raises InputErrors where it cannot run there.
    """
    planned = plan(iteration, model, node)
    layers = planned.own_layers
    called = iteration.launch == "eager"
    few, more = _layers(planned)
    if all_layers or layers <= more + 1:
        few = more = layers

    def runs(eager: bool) -> tuple[Runs, Runs]:
        built = build(planned, more)
        check_on_node(built.workload, node)
        average = average_before(node, change(launched(built.workload, eager=eager)))
        how: dict[str, Any] = {"eager": eager, "called": called, "average": average}
        last = Runs.of(node, built, change, **how, trace=trace)
        if few == more:
            return last, last
        less = build(planned, few)
        return Runs.of(node, less, change, **how, trace=False), last

    low, high = runs(eager=False)
    numbers = _at(low, high, few, more, layers)
    host_bound = called and numbers.host > numbers.wall
    if host_bound:
        low, high = runs(eager=True)
        numbers = _at(low, high, few, more, layers)
        if numbers.host > numbers.wall and more < layers:  # few layers are bound by their head
            few = more = layers
            low, high = runs(eager=True)
            numbers = high.numbers
    return _result(planned, high, numbers, strategy, more, host_bound=host_bound)


def sample(iteration: Iteration, model: Model, node: Node) -> tuple[Workload, Node, float]:
    """A workload of one layer of what :func:`run_iteration` simulates, its node, and how many times
    as much that is, about: both numbers of layers, each with both sides, one side, and the other.
    """
    planned = plan(iteration, model, node)
    layers = min(sum(_layers(planned)), 2 * planned.own_layers)
    turns = 2 if iteration.launch == "eager" else 1
    return build(planned, 1).workload, planned.node, float(max(1, layers) * turns)


def _layers(planned: Plan) -> tuple[int, int]:
    """Layers of the two runs: enough for what is gathered ahead."""
    fsdp = planned.kinds.get("fsdp")
    further = max(0, fsdp.prefetch - 1) if fsdp is not None else 0
    return FEW + further, MORE + further


def _at(low: Runs, high: Runs, few: int, more: int, layers: int) -> Numbers:
    if few == more:
        return high.numbers
    return low.numbers.at(high.numbers, few, more, layers)


def _result(
    planned: Plan, runs: Runs, numbers: Numbers, strategy: str, simulated: int, *, host_bound: bool
) -> IterationResult:
    node, iteration = planned.node, planned.iteration
    once = _optimizer_time(runs) * planned.own_layers / simulated if planned.stages > 1 else 0.0
    turns = planned.micro_batches + planned.stages - 1 if planned.stages > 1 else 1
    wall = (numbers.wall - once) * turns + once
    scale = wall / numbers.wall
    serial = [turns * (numbers.compute - once) + once, turns * numbers.communication]
    longest = max(serial) or wall
    ideal, speedup = sum(serial) / longest, sum(serial) / wall
    energy = _energy(planned, numbers, wall)
    total, memory = sum(energy.values()), memory_bytes(planned)
    tokens = iteration.batch * iteration.length * planned.replicas
    return IterationResult(
        workload=iteration.name,
        node=node.name,
        strategy=strategy,
        wall_s=wall,
        serial_s=sum(serial),
        ideal_speedup=ideal,
        speedup=speedup,
        fraction_of_ideal=(speedup - 1) / (ideal - 1) if ideal - 1 > 1e-9 else None,
        own_fraction=None,
        energy_j=total,
        gpus=node.ranks,
        ranks=node.ranks,
        wall_p5_s=wall,
        wall_p95_s=wall,
        energy=by_component(node, energy),
        average_power_w=total / wall,
        component_names=components_of(node),
        energy_measured=node.gpu.energy.measured,
        tasks=_tasks(node, runs),
        folded=runs.whole.folded,
        events=runs.whole.events,
        notes=_notes(planned, numbers, memory, simulated, host_bound=host_bound),
        timeline=runs.whole.timeline,
        compute_s=serial[0],
        communication_s=serial[1],
        exposed_s=numbers.waited * scale,
        stretched_s=numbers.stretched * scale,
        classes=_classes(numbers, scale),
        tokens_per_s=tokens / wall,
        mfu=_model_flops_used(planned, wall),
        memory_bytes=memory,
        fits=memory <= node.gpu.hbm.capacity,
        host_s=numbers.host,
        host_bound=host_bound,
        layers=planned.own_layers,
        simulated=min(simulated, planned.own_layers),
    )


def _energy(planned: Plan, numbers: Numbers, wall: float) -> dict[str, float]:
    """J of all GPUs by name of the energy, idle power over the *wall* time included."""
    node = planned.node
    energy = {name: j * planned.micro_batches for name, j in numbers.account.items()}
    return {**energy, IDLE: node.gpu.clock.idle_power * wall * node.ranks}


def _classes(numbers: Numbers, scale: float) -> dict[str, ClassTime]:
    """Times of each operator class, *scale* times those of the run."""
    return {
        name: ClassTime(busy_s=numbers.busy[name] * scale, exposed_s=numbers.exposed[name] * scale)
        for name in CLASSES
    }


def _model_flops_used(planned: Plan, wall: float) -> float:
    """FLOP of the model on a GPU by what its matrix units do in *wall* s at the full clock."""
    gpu = planned.node.gpu
    per_cycle = gpu.compute_units.flops_per_cycle[planned.operators.dtype]
    peak = per_cycle * gpu.compute_unit_count * gpu.clock.maximum
    return planned.units().flops * planned.micro_batches / (wall * peak)


def _optimizer_time(runs: Runs) -> float:
    """S of the optimizer, which a pipeline runs once."""
    times = [
        run.end - run.start
        for (name, gpu), run in runs.whole.times.items()
        if gpu == 0 and runs.built.classes[name] == "optimizer"
    ]
    return sum(times)


def _tasks(node: Node, runs: Runs) -> dict[str, TaskResult]:
    """Every simulated task; alone: as in the run without the other side."""
    results = {}
    alone_in = {True: runs.communication or runs.whole, False: runs.compute}
    alone = {
        side: {name: each for (name, gpu), each in run.times.items() if gpu == 0}
        for side, run in alone_in.items()
    }
    for (name, gpu), times in runs.whole.times.items():
        if gpu:
            continue
        task = runs.built.workload.tasks[name]
        own = alone[runs.built.classes[name] == "communication"][name]
        account = runs.whole.account_of(name)
        duration, isolated = times.end - times.start, own.end - own.start
        energy = sum(account.values())
        results[name] = TaskResult(
            isolated_s=isolated,
            start_s=times.start,
            end_s=times.end,
            time_s=times.end,
            slowdown=duration / isolated if isolated else 1.0,
            stream=task.stream or "",
            ready_s=times.ready,
            predecessors_s=times.ready,
            room_s=(times.start - times.ready) - (own.start - own.ready),
            slower_s=duration - isolated,
            kind=task.kind,
            energy_j=energy,
            energy=by_component(node, account, idle=False),
            average_power_w=energy / duration if duration else 0.0,
            payload_bytes=task.size if isinstance(task, Collective) else None,
            detail={"operator": runs.built.classes[name], **times.detail},
        )
    return results


def _notes(
    planned: Plan, numbers: Numbers, memory: float, simulated: int, *, host_bound: bool
) -> list[str]:
    notes = []
    capacity = planned.node.gpu.hbm.capacity
    if memory > capacity:
        notes.append(
            f"warning: needs {memory / 1e9:.0f} GB per GPU, which has {capacity / 1e9:.0f} GB;"
            " times are those of a GPU with more"
        )
    if host_bound:
        notes.append(
            f"bound by the host: its launches take {numbers.host * 1e3:.1f} ms; a graph or fewer"
            " kernels would shorten the iteration"
        )
    if simulated < planned.own_layers:
        notes.append(
            f"{simulated} of {planned.own_layers} layers were simulated; each further one adds what"
            " the last ones did"
        )
    if planned.stages > 1:
        notes.append(
            "pipeline: a middle stage was simulated; fill and drain are added as"
            f" {planned.stages - 1} more micro batches"
        )
    return notes
