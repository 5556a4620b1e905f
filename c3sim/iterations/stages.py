"""An iteration of several micro batches: stages of a pipeline, or gradients that are accumulated.

One micro batch through the parts of a stage is simulated, all GPUs at once, as in the middle of the
pipeline: layers, what the first stage has before them and the last behind, the copy to the next
stage. Each twice: as most micro batches go, and as the one whose gradients are exchanged, with the
optimizer. Their forward and backward times are then put in the order of the schedule
(pipeline.py); what else a stage takes adds up over its micro batches.

    bubbles   as long as a GPU would be idle if all stages took their mean and copies no time
    stages    how much longer it waits for others
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from c3sim.iterations.build import Piece, Plan
from c3sim.iterations.memory import memory_of_stage
from c3sim.iterations.pipeline import Pipe, Slot, Timeline, Work, timeline
from c3sim.iterations.runs import Numbers, added
from c3sim.iterations.shares import BUBBLES, COMMUNICATION, STAGES, WAITING

#: One micro batch: as most go, and the one whose gradients are exchanged.
PLAIN, ONCE = False, True
OfPiece = Callable[[Piece, int], Numbers]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A GPU of a pipeline: its *layers*; s of the wall time in which it works *forward*, *backward*
    and in the *optimizer*; *exposed* s of that in which communication runs and no operator;
    *bubbles*, and how long it *waits* for other stages; micro batches *held*; bytes of memory.
    """

    number: int
    layers: int
    forward_s: float
    backward_s: float
    optimizer_s: float
    exposed_s: float
    bubbles_s: float
    waits_s: float
    held: int
    memory_bytes: float

    def within(self, wall: float) -> Stage:
        """The same in a step of *wall* s: of one in a loop that the host binds, where the next
        step's launches fill what a stage would wait for.
        """
        free = max(0.0, wall - self.forward_s - self.backward_s - self.optimizer_s)
        bubbles = min(self.bubbles_s, free)
        return replace(self, bubbles_s=bubbles, waits_s=free - bubbles)


@dataclass(frozen=True, kw_only=True)
class Turns:
    """The micro batches of *planned*, from the figures *of* its pieces with so many layers."""

    planned: Plan
    of: OfPiece
    known: dict[Any, Numbers] = field(default_factory=dict)

    @cached_property
    def pipe(self) -> Pipe:
        planned = self.planned
        training = planned.iteration.phase == "training"
        batches, chunks = planned.micro_batches, planned.chunks
        return Pipe(planned.schedule, planned.stages, batches, chunks, training)

    def layers(self, stage: int) -> int:
        """Layers of a stage of the model: as many as of any other, the first ones one more."""
        each, more = divmod(self.planned.layers, self.pipe.depth)
        return each + (stage < more)

    def turn(self, stage: int, once: bool) -> Numbers:
        """A micro batch through a stage of the model."""
        layers = self.layers(stage)
        first, last = stage == 0, stage == self.pipe.depth - 1
        key = (layers, first, last, once)
        if key not in self.known:
            if self.planned.stages == 1:
                pieces = [self.of(Piece("whole", once), layers)]
            else:
                pieces = [self.of(Piece("layers", once), layers)]
                units = self.planned.units()
                pieces += (
                    [self.of(Piece("start", once), 0)] if first and units.start.forward else []
                )
                pieces += [self.of(Piece("end", once), 0)] if last and units.end.forward else []
            self.known[key] = added([(each, 1.0) for each in pieces])
        return self.known[key]

    def copied(self, one: int, other: int) -> Numbers:
        """A copy from a GPU of the pipeline to the next."""
        gpus, stride = self.planned.node.gpus, self.planned.mesh.stride("pp")
        low, high = sorted((one, other))
        across = low * stride // gpus != high * stride // gpus
        name = "between" if across and self.planned.node.nodes > 1 else "within"
        key = ("hop", name)
        if key not in self.known:
            self.known[key] = self.of(Piece(name, False), 0)  # type: ignore[arg-type]
        return self.known[key]

    def placed(self, wall: Callable[[Numbers], float], *, sends: bool) -> Timeline:
        """The schedule where a turn takes *wall* of its figures, *sends*: copies take time."""

        def time(gpu: int, slot: Slot) -> float:
            works = [self.worked(gpu, each, wall) for each in slot]
            hidden = min(sum(own for _, own in works), 0.5 * sum(time for time, _ in works))
            return sum(time for time, _ in works) - (hidden if len(slot) > 1 else 0.0)

        def hop(one: int, other: int) -> float:
            return self.copied(one, other).wall if sends and one != other else 0.0

        begin = [self.gathered(gpu, wall) for gpu in range(self.pipe.stages)]
        return timeline(self.pipe, time, hop, begin)

    def gathered(self, gpu: int, wall: Callable[[Numbers], float]) -> float:
        """Seconds in which *gpu* does nothing but gather its weights, before all else."""
        pipe, found = self.pipe, 0.0
        for chunk in range(pipe.held):
            stage = pipe.stage(gpu, chunk)
            numbers = [self.turn(stage, once) for once in (ONCE, PLAIN)]
            once, plain = (split(each, wall(each), training=pipe.training)["F"] for each in numbers)
            found += max(0.0, once - plain)
        return found

    def worked(self, gpu: int, work: Work, wall: Callable[[Numbers], float]) -> tuple[float, float]:
        """Seconds that *work* takes of *gpu*, and of these exposed communication."""
        pipe, last = self.pipe, self.pipe.of_chunk - 1
        once = work.kind != "F" and work.batch == last
        numbers = self.turn(pipe.stage(gpu, work.chunk), once)
        times = split(numbers, wall(numbers), training=pipe.training)
        exposed = numbers.parts.get(COMMUNICATION, 0.0) + numbers.parts.get(WAITING, 0.0)
        share = times[work.kind] / max(times["F"] + times["BW"], 1e-30)
        return times[work.kind], exposed * share if wall is whole else 0.0


def whole(numbers: Numbers) -> float:
    return numbers.wall


def split(numbers: Numbers, wall: float, *, training: bool) -> Mapping[str, float]:
    """Parts of a turn of *wall* s: forward, backward for the input, for the weights, both; the
    optimizer is apart.
    """
    last = numbers.busy.get("optimizer", 0.0)
    if not training:
        return {"F": wall, "BW": 0.0}
    scale = (wall - last) / max(numbers.wall - last, 1e-30)
    forward = numbers.forward * scale
    weights = min(numbers.weights * scale, wall - last - forward)
    backward = wall - last - forward
    return {"F": forward, "B": backward - weights, "W": weights, "BW": backward}


@dataclass(frozen=True, kw_only=True)
class Whole:
    """All micro batches: *numbers*, mean over the *stages*; *clock*: when each does what."""

    numbers: Numbers
    stages: tuple[Stage, ...]
    clock: Timeline


def all_turns(planned: Plan, of: OfPiece) -> Whole:
    """The iteration *planned*, of which *of* has the figures of a micro batch."""
    turns = Turns(planned=planned, of=of)
    clock, alone = turns.placed(whole, sends=True), turns.placed(lambda n: n.compute, sends=False)
    gpus = range(turns.pipe.stages)
    each = [_of_gpu(turns, gpu) for gpu in gpus]

    def end(found: Timeline) -> float:
        last = [numbers.busy.get("optimizer", 0.0) for numbers in each]
        return max(found.end(gpu) + last[gpu] for gpu in gpus)

    wall, equal = end(clock), _idle_if_equal(turns)
    total = added([(numbers, 1 / len(each)) for numbers in each])
    busy = [
        sum(numbers.parts.values()) - _hidden(turns, clock, gpu) for gpu, numbers in enumerate(each)
    ]
    bubbles = [min(equal, max(0.0, wall - own)) for own in busy]
    waits = [max(0.0, wall - own - bubble) for own, bubble in zip(busy, bubbles, strict=True)]
    further = {BUBBLES: sum(bubbles) / len(each), STAGES: sum(waits) / len(each)}
    scale = (wall - sum(further.values())) / max(sum(total.parts.values()), 1e-30)
    parts = {name: time * scale for name, time in total.parts.items()}
    stages = tuple(_row(turns, gpu, clock, each[gpu], bubbles[gpu], waits[gpu]) for gpu in gpus)
    numbers = replace(total, wall=wall, compute=end(alone), parts={**parts, **further})
    return Whole(numbers=numbers, stages=stages, clock=clock)


def _hidden(turns: Turns, clock: Timeline, gpu: int) -> float:
    """Seconds that works beside each other take less than one after the other."""
    return sum(
        sum(turns.worked(gpu, work, whole)[0] for work in slot) - (end - begin)
        for slot, begin, end in clock.slots[gpu]
        if len(slot) > 1
    )


def _of_gpu(turns: Turns, gpu: int) -> Numbers:
    """All that a GPU does, copies included."""
    pipe = turns.pipe
    terms = []
    for chunk in range(pipe.held):
        stage = pipe.stage(gpu, chunk)
        terms += [(turns.turn(stage, PLAIN), pipe.of_chunk - 1.0), (turns.turn(stage, ONCE), 1.0)]
        for further in (stage + 1, stage - 1) if pipe.training else (stage + 1,):
            if 0 <= further < pipe.depth and pipe.stages > 1:
                peer = pipe.gpu(further, chunk)
                blocks = pipe.schedule in ("gpipe", "1f1b")
                copy = turns.copied(gpu, peer)
                copy = copy if blocks else replace(copy, parts={}, waited=0.0, group_exposed={})
                terms.append((copy, float(pipe.of_chunk)))
    return added(terms)


def _idle_if_equal(turns: Turns) -> float:
    """Seconds that a GPU is idle where all stages take their mean, and copies nothing."""
    pipe = turns.pipe
    count = pipe.depth
    mean = {
        once: added([(turns.turn(stage, once), 1 / count) for stage in range(count)])
        for once in (PLAIN, ONCE)
    }
    like = Turns(planned=turns.planned, of=turns.of)
    for stage in range(count):
        first, last = stage == 0, stage == count - 1
        for once in (PLAIN, ONCE):
            like.known[like.layers(stage), first, last, once] = mean[once]
    found = like.placed(whole, sends=False)
    wall = max(found.end(gpu) for gpu in range(pipe.stages))
    used = [sum(end - begin for _, begin, end in slots) for slots in found.slots]
    used = [own + like.gathered(gpu, whole) for gpu, own in enumerate(used)]
    return wall - sum(used) / len(used)


def _row(
    turns: Turns, gpu: int, clock: Timeline, numbers: Numbers, bubbles: float, waits: float
) -> Stage:
    times = {"F": turns.gathered(gpu, whole), "B": 0.0}
    for slot, begin, end in clock.slots[gpu]:
        own = [turns.worked(gpu, work, whole)[0] for work in slot]
        for work, time in zip(slot, own, strict=True):
            kind = "F" if work.kind == "F" else "B"
            times[kind] += time * (end - begin) / max(sum(own), 1e-30)
    pipe = turns.pipe
    stages = [pipe.stage(gpu, chunk) for chunk in range(pipe.held)]
    layers, ends = (
        sum(turns.layers(stage) for stage in stages),
        (0 in stages, pipe.depth - 1 in stages),
    )
    return Stage(
        number=gpu,
        layers=layers,
        forward_s=times["F"],
        backward_s=times["B"],
        optimizer_s=numbers.busy.get("optimizer", 0.0),
        exposed_s=numbers.waited,
        bubbles_s=bubbles,
        waits_s=waits,
        held=clock.held[gpu],
        memory_bytes=memory_of_stage(turns.planned, layers, *ends, clock.held[gpu] / pipe.held),
    )
