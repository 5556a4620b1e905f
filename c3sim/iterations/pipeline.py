"""Micro batches in the stages of a pipeline: who does what in which order, and when.

A stage runs each micro batch forward (F) and backward, for its input (B) and its weights (W). F of
stage s waits for that of s - 1, B for that of s + 1. With p stages, m micro batches, and equal
times f, b, w:

    ============  ======================================================  =====================
    schedule      order of a stage                                        idle
    ============  ======================================================  =====================
    gpipe         all forward, then all backward (arXiv 1811.06965)       (p-1)(f+b+w)
    1f1b          forward as often as stages follow, then one of each     (p-1)(f+b+w)
                  (arXiv 2104.04473, section 2.2)
    interleaved   v parts of the model on each GPU, a stage p apart       (p-1)(f+b+w) / v
                  (the same, section 2.3)
    zero_bubble   as 1f1b, W as many micro batches behind B as stages     (p-1)(f+b-w)
                  are in front (ZB-H1, arXiv 2401.10241)
    dualpipe      two stages on each GPU, from both ends; one's forward   (p/2-1)(g+b-2w), g: both
                  beside the other's backward (arXiv 2412.19437, fig. 5)  at once
    ============  ======================================================  =====================

gpipe and 1f1b wait for what they send, as PyTorch's do; the others send beside the next work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from c3sim.spec.layout import Schedule

Kind = Literal["F", "B", "W", "BW"]  # BW: input and weights in one


class Work(NamedTuple):
    """A micro batch through a stage of a GPU: *chunk* tells its stages apart."""

    kind: Kind
    chunk: int
    batch: int


#: What a GPU does at a time: one work, or two beside each other.
Slot = tuple[Work, ...]


class Pipe(NamedTuple):
    """*stages* GPUs one behind the other, *batches* micro batches in all."""

    schedule: Schedule
    stages: int
    batches: int
    chunks: int = 1
    training: bool = True

    @property
    def held(self) -> int:
        """Stages of the model on a GPU."""
        return 2 if self.schedule == "dualpipe" else self.chunks

    @property
    def depth(self) -> int:
        """Stages of the model."""
        return self.stages * (1 if self.schedule == "dualpipe" else self.chunks)

    def stage(self, gpu: int, chunk: int) -> int:
        """The stage of the model that is *chunk* of *gpu*."""
        if self.schedule == "dualpipe":
            return gpu if chunk == 0 else self.stages - 1 - gpu
        return chunk * self.stages + gpu

    def gpu(self, stage: int, chunk: int) -> int:
        """The GPU of a *stage*; dualpipe has it twice, as one *chunk* and as the other."""
        if self.schedule == "dualpipe":
            return stage if chunk == 0 else self.stages - 1 - stage
        return stage % self.stages

    def chunk(self, stage: int, chunk: int) -> int:
        """Number of *stage* on its GPU, for a micro batch in *chunk* of another."""
        return chunk if self.schedule == "dualpipe" else stage // self.stages

    @property
    def of_chunk(self) -> int:
        """Micro batches that go through a stage of a GPU."""
        return self.batches // 2 if self.schedule == "dualpipe" else self.batches


def order(pipe: Pipe, gpu: int) -> list[Slot]:
    """Work of *gpu*, in order."""
    if not pipe.training:
        return [(Work("F", 0, n),) for n in range(pipe.batches)]
    if pipe.schedule == "dualpipe":
        return _dual(pipe, gpu)
    if pipe.schedule == "interleaved":
        return _interleaved(pipe, gpu)
    first = pipe.batches if pipe.schedule == "gpipe" else pipe.stages - gpu - 1
    back: Kind = "B" if pipe.schedule == "zero_bubble" else "BW"
    forward: list[Slot] = [(Work("F", 0, n),) for n in range(pipe.batches)]
    backward: list[Slot] = [(Work(back, 0, n),) for n in range(pipe.batches)]
    slots = _alternating(forward, backward, first)
    return _with_weights(slots, gpu) if back == "B" else slots


def _with_weights(slots: list[Slot], behind: int) -> list[Slot]:
    """W so many micro batches *behind* B: as many as come back later than to the first stage."""
    found: list[Slot] = []
    late: list[Work] = []
    for slot in slots:
        found.append(slot)
        if slot[0].kind == "B":
            late.append(Work("W", 0, slot[0].batch))
            found += [(late.pop(0),)] if len(late) > behind else []
    return [*found, *((work,) for work in late)]


def _alternating(forward: list[Slot], backward: list[Slot], first: int) -> list[Slot]:
    """*first* of *forward*, then one of each as long as there are."""
    slots, rest = forward[:first], forward[first:]
    for number, back in enumerate(backward):
        slots += [*rest[number : number + 1], back]
    return slots


def _interleaved(pipe: Pipe, gpu: int) -> list[Slot]:
    """Groups of as many micro batches as stages go through part after part."""
    stages, parts = pipe.stages, pipe.chunks

    def work(kind: Kind, number: int) -> Slot:
        turn, place = divmod(number, stages * parts)
        chunk = place // stages
        chunk = parts - 1 - chunk if kind == "BW" else chunk
        return (Work(kind, chunk, turn * stages + place % stages),)

    total = pipe.batches * parts
    forward = [work("F", number) for number in range(total)]
    backward = [work("BW", number) for number in range(total)]
    first = 2 * (stages - gpu - 1) + (parts - 1) * stages
    return _alternating(forward, backward, first)


def _dual(pipe: Pipe, gpu: int) -> list[Slot]:
    """Eight steps, mirrored in the second half of the GPUs (github.com/deepseek-ai/DualPipe)."""
    half, place = pipe.stages // 2, min(gpu, pipe.stages - 1 - gpu)
    behind, middle = half - place - 1, (place + 1) // 2
    both = pipe.of_chunk - pipe.stages + place + 1

    def apart(number: int, way: int) -> str:
        """The last half of them leave gradients of weights for later."""
        first = number > middle or (number == middle and place % 2 == 1)
        return "B" if first or (way == 0 and number >= middle) else "BW"

    steps = ["F0"] * (2 * behind)
    steps += ["F0", "F1"] * (place + 1)
    steps += ["B1", "W", "F1"] * behind
    steps += ["F0 BW1", "F1 BW0"] * both
    steps += ["BW1", "F1 BW0"] * behind
    steps += [f"{apart(number, way)}{way}" for number in range(place + 1) for way in (1, 0)]
    steps += ["W", "B0"] * behind
    steps += ["W"] * (place + 1)
    return _slots(steps, swapped=gpu >= half)


def _slots(steps: list[str], *, swapped: bool) -> list[Slot]:
    """*steps* in words: kind and way of each work; the next micro batch of each is meant, and W of
    what has waited longest.
    """
    counts: dict[tuple[str, int], int] = {}
    late: list[Work] = []
    slots: list[Slot] = []
    for step in steps:
        if step == "W":
            slots.append((late.pop(0),))
            continue
        works = []
        for word in step.split():
            kind: Any = word[:-1]
            chunk = int(word[-1]) ^ swapped
            number = counts.get((kind[0], chunk), 0)
            counts[kind[0], chunk] = number + 1
            works.append(Work(kind, chunk, number))
            late += [Work("W", chunk, number)] if kind == "B" else []
        slots.append(tuple(works))
    return slots


#: Seconds of a slot on a GPU, without what it sends.
Time = Callable[[int, Slot], float]


@dataclass(slots=True)
class Timeline:
    """*slots* of each GPU with begin and end [s]; *held*: micro batches of a stage that a GPU has
    activations of, at most.
    """

    slots: list[list[tuple[Slot, float, float]]]
    held: list[int] = field(default_factory=list)

    def end(self, gpu: int) -> float:
        return max((end for _, _, end in self.slots[gpu]), default=0.0)


def timeline(
    pipe: Pipe, time: Time, hop: Callable[[int, int], float], begin: Sequence[float] = ()
) -> Timeline:
    """Begin and end of every slot on every GPU. *hop*: s of a copy from one GPU to another;
    *begin*: when a GPU can begin, where it has to gather weights before; left out: 0.
    """
    return _Clock(pipe, time, hop, begin).run()


class _Clock:
    def __init__(
        self, pipe: Pipe, time: Time, hop: Callable[[int, int], float], begin: Sequence[float]
    ):
        self.pipe, self.time, self.hop = pipe, time, hop
        gpus = range(pipe.stages)
        self.left: list[list[Slot]] = [order(pipe, gpu) for gpu in gpus]
        self.free = list(begin) or [0.0 for _ in gpus]
        self.done: dict[tuple[str, int, int, int], float] = {}  # kind, stage, way, batch -> s
        self.live = [0 for _ in gpus]
        self.found = Timeline([[] for _ in gpus], [0 for _ in gpus])

    def run(self) -> Timeline:
        moved = True
        while moved:
            moved = False
            for gpu in range(self.pipe.stages):
                while self.left[gpu] and (ready := self._ready(gpu, self.left[gpu][0])) is not None:
                    self._do(gpu, self.left[gpu].pop(0), ready)
                    moved = True
        assert not any(self.left)  # an order in which nobody can go on is a mistake of this module
        return self.found

    def _ready(self, gpu: int, slot: Slot) -> float | None:
        """Time at which all is there that *slot* needs; None while that is not known."""
        times = []
        for work in slot:
            for key in self._needs(gpu, work):
                if key not in self.done:
                    return None
                times.append(self.done[key])
        return max(times, default=0.0)

    def _needs(self, gpu: int, work: Work) -> list[tuple[str, int, int, int]]:
        stage, way = self.pipe.stage(gpu, work.chunk), self._way(work.chunk)
        if work.kind == "F":
            return [("F", stage, way, work.batch)] if stage else []
        if work.kind == "W":
            return []
        own = [("own", stage, way, work.batch)]
        return own if stage == self.pipe.depth - 1 else [*own, ("B", stage, way, work.batch)]

    def _way(self, chunk: int) -> int:
        return chunk if self.pipe.schedule == "dualpipe" else 0

    def _do(self, gpu: int, slot: Slot, ready: float) -> None:
        begin = max(self.free[gpu], ready)
        end = begin + self.time(gpu, slot)
        sends = self.pipe.schedule in ("gpipe", "1f1b")
        for work in slot:
            stage, way = self.pipe.stage(gpu, work.chunk), self._way(work.chunk)
            if work.kind == "F":
                self.done["own", stage, way, work.batch] = end
                self.live[gpu] += 1
                further, towards = stage + 1, "F"
            elif work.kind in ("B", "BW"):
                further, towards = stage - 1, "B"
            if work.kind in ("W", "BW"):
                self.live[gpu] -= 1
            self.found.held[gpu] = max(self.found.held[gpu], self.live[gpu])
            if work.kind == "W" or not 0 <= further < self.pipe.depth:
                continue
            peer = self.pipe.gpu(further, way)
            arrives = end + self.hop(gpu, peer)
            self.done[towards, further, way, work.batch] = arrives
            self.free[gpu] = arrives if sends else self.free[gpu]
        self.free[gpu] = max(self.free[gpu], end)
        self.found.slots[gpu].append((slot, begin, end))


def idle(pipe: Pipe, found: Timeline, wall: float) -> Sequence[float]:
    """Seconds of *wall* in which each GPU does nothing."""
    return [wall - sum(end - begin for _, begin, end in slots) for slots in found.slots]
