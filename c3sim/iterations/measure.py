"""A description of an iteration, run: its result."""

from __future__ import annotations

from c3sim.evaluation.evaluate import power_result
from c3sim.evaluation.losses import overlap
from c3sim.evaluation.strategies.rewrites import staying_note
from c3sim.evaluation.trust import nearest
from c3sim.iterations.build import Plan
from c3sim.iterations.measured import InTurns, Measured, work_of
from c3sim.iterations.memory import memory_bytes
from c3sim.iterations.result import IterationResult, StepTimes
from c3sim.iterations.runs import Numbers, Runs
from c3sim.iterations.stages import Stage
from c3sim.result import ClassTime, OverlapResult, RankResult, TaskResult
from c3sim.simulation.exposure import CLASSES
from c3sim.spec.energies import IDLE, by_component
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Mixture
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.workload import Collective


def result_of(measured: Measured | InTurns, strategy: str) -> IterationResult:
    """The result of what was *measured* under *strategy*."""
    planned, runs, simulated = measured.planned, measured.high, measured.more
    numbers, host_bound = measured.numbers, measured.host_bound
    node, iteration, wall = planned.node, planned.iteration, numbers.wall
    serial = [numbers.compute, numbers.communication]
    shared = overlap(serial, wall, max(serial) or wall)
    energy, stages = _energy(node, numbers), _stages(measured)
    memory = max((stage.memory_bytes for stage in stages), default=0.0) or memory_bytes(planned)
    total, (flop, peak) = sum(energy.values()), work_of(planned)
    return IterationResult(
        workload=iteration.name,
        node=node.name,
        strategy=strategy,
        wall_s=wall,
        serial_s=shared.serial,
        ideal_speedup=shared.ideal_speedup,
        speedup=shared.speedup,
        fraction_of_ideal=shared.fraction,
        energy_j=total,
        tasks=_tasks(node, runs),
        overlap=_overlap(numbers),
        power=power_result(node, energy, total, wall),
        ranks=_ranks(node, runs, wall),
        notes=_notes(measured, strategy, memory),
        trust=nearest(node, runs.workload),
        trace=runs.whole.timeline,
        compute_s=serial[0],
        communication_s=serial[1],
        parts=numbers.parts,
        tokens_per_s=iteration.batch * iteration.length * planned.replicas / wall,
        mfu=flop / (wall * peak),
        memory_bytes=memory,
        fits=memory <= node.gpu.hbm.capacity,
        host_s=numbers.host,
        host_bound=host_bound,
        layers=planned.own_layers,
        simulated=min(simulated, planned.own_layers),
        stages=stages if planned.stages > 1 else (),
        groups=_groups(planned, numbers),
    )


def step_of(measured: Measured | InTurns, strategy: str) -> StepTimes:
    """Where the time of what was *measured* goes, by the whole alone."""
    planned, numbers = measured.planned, measured.numbers
    return StepTimes(
        workload=planned.iteration.name,
        node=planned.node.name,
        strategy=strategy,
        wall_s=numbers.wall,
        overlap=_overlap(numbers),
        parts=numbers.parts,
        groups=_groups(planned, numbers),
    )


def _stages(measured: Measured | InTurns) -> tuple[Stage, ...]:
    """Stages of a pipeline, none without one; within the host's time where that takes longest."""
    stages = measured.all_turns.stages if isinstance(measured, InTurns) else ()
    if not measured.host_bound:
        return stages
    return tuple(stage.within(measured.numbers.wall) for stage in stages)


def _ranks(node: Node, runs: Runs, wall: float) -> RankResult:
    whole = runs.whole
    return RankResult(
        count=node.ranks, folded=whole.folded, events=whole.events, wall_p5_s=wall, wall_p95_s=wall
    )


def _energy(node: Node, numbers: Numbers) -> dict[str, float]:
    """J of all GPUs by name of the energy, idle power over the wall time included."""
    idle = node.gpu.clock.idle_power * numbers.wall * node.ranks
    return {**numbers.account, IDLE: idle}


def _overlap(numbers: Numbers) -> OverlapResult:
    """Exposed and stretched times, of the whole and of each operator class."""
    classes: dict[str, ClassTime] = {
        name: ClassTime(busy_s=numbers.busy[name], exposed_s=numbers.exposed[name])
        for name in CLASSES
    }
    return OverlapResult(exposed_s=numbers.waited, stretched_s=numbers.stretched, classes=classes)


def _groups(planned: Plan, numbers: Numbers) -> dict[str, ClassTime]:
    """Communication by the dimensions of its group of GPUs."""
    return {
        planned.mesh.dimensions_of(stream.partition("-")[2]): ClassTime(
            busy_s=busy, exposed_s=numbers.group_exposed.get(stream, 0.0)
        )
        for stream, busy in numbers.group_busy.items()
        if busy
    }


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
        energy, room = sum(account.values()), times.waited_for_room(own)
        results[name] = TaskResult(
            isolated_s=isolated,
            start_s=times.start,
            end_s=times.end,
            time_s=times.end,
            slowdown=duration / isolated if isolated else 1.0,
            stream=task.stream or "",
            ready_s=times.ready,
            predecessors_s=times.start - room,
            room_s=room,
            slower_s=duration - isolated,
            kind=task.kind,
            energy_j=energy,
            energy=by_component(node, account, idle=False),
            average_power_w=energy / duration if duration else 0.0,
            payload_bytes=task.size if isinstance(task, Collective) else None,
            detail={"operator": runs.built.classes[name], **times.detail},
        )
    return results


def _notes(measured: Measured | InTurns, strategy: str, memory: float) -> list[str]:
    planned, simulated = measured.planned, measured.more
    staying = staying_note(strategy, measured.high.workload, planned.node)
    notes = [staying] if staying else []
    capacity = planned.node.gpu.hbm.capacity
    if memory > capacity:
        notes.append(
            f"warning: needs {memory / 1e9:.0f} GB per GPU, which has {capacity / 1e9:.0f} GB;"
            " times are those of a GPU with more"
        )
    if measured.host_bound:
        notes.append(
            f"bound by the host: its launches take {measured.numbers.host * 1e3:.1f} ms; a graph"
            " or fewer kernels would shorten the iteration"
        )
    model = planned.model
    if not isinstance(model, Dlrm):
        notes += model.left_out
        if planned.stages > 1 and model.dense_layers:
            notes.append("pipeline: all stages are taken to have layers as the last one has")
        notes += _not_used(planned, model)
    if simulated < planned.own_layers:
        notes.append(
            f"{simulated} of {planned.own_layers} layers were simulated; each further one adds what"
            " the last ones did"
        )
    if planned.stages > 1:
        notes.append(
            "pipeline: a micro batch was simulated, as in the middle of it; what stages do at other"
            " times does not share links or units with that"
        )
    return notes


def _not_used(planned: Plan, model: Transformer) -> list[str]:
    """What is said of a mixture that *model*, or its layout, has not."""
    said = planned.iteration.mixture
    if said != Mixture() and model.experts == 1:
        return [f"mixture: {model.name} has no experts; nothing of it is used"]
    if said.dispatch != Mixture().dispatch and planned.mesh.ep == 1:
        return ["mixture.dispatch: every GPU has all experts (ep is 1); no rows are sent"]
    return []
