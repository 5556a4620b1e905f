"""The exercise of each lesson: a question, how the right answer is found, and hints.

Answers are computed by the model or by hand, here, where everybody can read how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import c3sim

PAIR = "gemm-beside-all-gather"


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """*right* gives the answer in *unit*; *within*: the relative error that still counts as right.

    *hints*: one for each wrong try, the last one again and again.
    """

    question: str
    right: Callable[[], float]
    unit: str
    within: float
    hints: Sequence[str]
    why: str

    def accepts(self, answer: float) -> bool:
        right = self.right()
        return abs(answer - right) <= self.within * abs(right)


def best_size() -> float:
    """Size in MiB at which the all-gather takes as long as the GEMM, both alone; by halving."""
    low, high = 128.0, 896.0
    while high - low > 1:
        middle = (low + high) / 2
        result = c3sim.run(PAIR, set={"task.gather.size": f"{middle} MiB"})
        longer = result.tasks["gather"].isolated_s > result.tasks["gemm"].isolated_s
        low, high = (low, middle) if longer else (middle, high)
    return (low + high) / 2


def wait_of_half() -> float:
    """Milliseconds that the all-gather waits for room beside a GEMM of half the depth."""
    return c3sim.run(PAIR, set={"task.gemm.k": 4096}).tasks["gather"].room_s * 1e3


def enough_channels() -> float:
    """The fewest channels whose wall time is within 2 % of the shortest, for 224 MiB."""
    walls = {}
    for channels in (8, 16, 24, 32, 40, 48, 56, 64):
        settings = {"task.gather.channels": channels, "task.gather.size": "224 MiB"}
        walls[channels] = c3sim.run(PAIR, strategy="sp", set=settings).wall_s
    return min(channels for channels, wall in walls.items() if wall <= 1.02 * min(walls.values()))


def crossing() -> float:
    """Size in MiB from which an all-gather alone is quicker on DMA engines than on units."""
    low, high = 4.0, 256.0
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        size = {"task.gather.size": f"{round(64 * middle) * 16} KiB"}
        engines = c3sim.run("all-gather-alone", set={**size, "task.gather.backend": "dma"})
        units = c3sim.run("all-gather-alone", set=size)
        low, high = (low, middle) if engines.wall_s < units.wall_s else (middle, high)
    return math.sqrt(low * high)


def in_pieces(pieces: int, mebibytes: float) -> c3sim.Result:
    """An all-gather in *pieces* chunks, and a GEMM for each that waits for it."""
    gather = {
        "kind": "collective",
        "op": "all_gather",
        "size": f"{mebibytes} MiB",
        "stream": "communication",
    }
    tasks: dict[str, object] = {"gather": gather | ({"chunks": pieces} if pieces > 1 else {})}
    for number in range(pieces):
        tasks[f"gemm{number}"] = {
            "kind": "gemm",
            "m": 8192 // pieces,
            "n": 8192,
            "k": 8192,
            "stream": "compute",
            "after": [f"gather.chunk[{number}]" if pieces > 1 else "gather"],
        }
    return c3sim.run({"name": f"{pieces} pieces", "tasks": tasks})


def best_pieces() -> float:
    """Of 1, 2, 4 ... 32 pieces, the number with the shortest wall time for 256 MiB."""
    return min((1, 2, 4, 8, 16, 32), key=lambda pieces: in_pieces(pieces, 256).wall_s)


def last_round() -> float:
    """Tiles of the last round: by hand, from the tile that the model names."""
    rows, columns = (int(side) for side in _tile().split("x"))
    tiles = math.ceil(8192 / rows) * math.ceil(8192 / columns)
    return tiles - 304 * (math.ceil(tiles / 304) - 1)


def _tile() -> str:
    return str(c3sim.run("gemm-alone").tasks["gemm"].detail["macro_tile"])


def false_share() -> float:
    """Per cent of the time in which both run that saves nothing, with 16 channels."""
    result = c3sim.run(PAIR, strategy="sp", set={"task.gather.channels": 16})
    both = min(task.end_s for task in result.tasks.values())  # both begin at once
    return 100 * (1 - (result.serial_s - result.wall_s) / both)


def more_power() -> float:
    """Per cent by which a limit of 900 W instead of 750 W shortens the GEMM alone."""
    now, more = (
        c3sim.run("gemm-alone", set={"gpu.clock.power_limit": f"{limit} W"}).wall_s
        for limit in (750, 900)
    )
    return 100 * (1 - more / now)


def enough_engines() -> float:
    """The fewest engines with which the wall time is within 1 % of that with fourteen."""
    walls = {
        count: c3sim.run(PAIR, strategy="conccl", set={"gpu.dma_engines.count": count}).wall_s
        for count in range(1, 15)
    }
    return min(count for count, wall in walls.items() if wall <= 1.01 * walls[14])


def exposed_without_prefetch() -> float:
    """Per cent of a training step on eight MI300X that is exposed when nothing is prefetched."""
    step = c3sim.run("llama3-8b-training", node="mi300x-8", set={"parallel.prefetch": 0})
    return 100 * step.exposed_s / step.wall_s


EXERCISES = {
    1: Exercise(
        question="For which size of the all-gather, in MiB, could overlap gain most?",
        right=best_size,
        unit="MiB",
        within=0.03,
        hints=(
            "The ideal is the longer of the two. When is the shorter one longest beside it?",
            "The gain is greatest where both take equally long alone. The GEMM takes 1.72 ms.",
        ),
        why="There both take equally long, and the ideal speedup is 2.",
    ),
    2: Exercise(
        question="With task.gemm.k=4096, how long does the all-gather wait for room, in ms?",
        right=wait_of_half,
        unit="ms",
        within=0.05,
        hints=(
            "The number of rounds does not depend on k. What does one round take now?",
            "It waits for all rounds but the last one. Read tasks['gather'].room_s.",
        ),
        why="There are still four rounds, each half as long: it waits for three of them.",
    ),
    3: Exercise(
        question=(
            "The all-gather has 224 MiB now. Of 8, 16, 24 ... 64 channels, what is the smallest"
            " number whose wall time is within 2 % of the best?"
        ),
        right=enough_channels,
        unit="channels",
        within=0.01,
        hints=(
            "Run the loop of this lesson with task.gather.size='224 MiB' as well.",
            "Which of the two is longer, and who decides the wall time then?",
        ),
        why="The GEMM is the longer one now. More channels only shorten what is hidden anyway.",
    ),
    4: Exercise(
        question="From which size on, in MiB, are engines quicker alone? (20 % are close enough.)",
        right=crossing,
        unit="MiB",
        within=0.2,
        hints=(
            "Look at the two lines of the picture: between which sizes do they cross?",
            "Halve the interval between 16 and 64 MiB a few times.",
        ),
        why="Engines have to be told what to do, some 40 us; from there on their rate wins.",
    ),
    5: Exercise(
        question="For 256 MiB, how many pieces (1, 2, 4, 8, 16, 32) give the shortest wall time?",
        right=best_pieces,
        unit="pieces",
        within=0.01,
        hints=(
            "Call in_pieces(pieces, 256) in a loop.",
            "Fewer than one thinks: what does a piece cost, and what is there left to hide?",
        ),
        why="Every further piece adds a tail to each GEMM, and hides less than the one before.",
    ),
    6: Exercise(
        question=(
            "8192 x 8192 in tiles of 256 x 224 on 304 compute units, one tile each at a time: how"
            " many tiles has the last round? (Pencil and paper.)"
        ),
        right=last_round,
        unit="tiles",
        within=0.001,
        hints=(
            "Tiles at the edge count as whole ones: round up in both directions.",
            "32 x 37 tiles; three rounds of 304 are full.",
        ),
        why="32 x 37 = 1184 = 3 x 304 + 272.",
    ),
    7: Exercise(
        question="With 16 channels under sp: what per cent of the overlapped time saves nothing?",
        right=false_share,
        unit="%",
        within=0.03,
        hints=(
            "Saved is what both take one after the other, less the wall time.",
            "Both begin at once, so they overlap until the first one ends.",
        ),
        why="More than half of what the timeline shows as overlap bought nothing.",
    ),
    8: Exercise(
        question="By how many per cent does a limit of 900 W instead of 750 W shorten the GEMM?",
        right=more_power,
        unit="%",
        within=0.05,
        hints=(
            "set={'gpu.clock.power_limit': '900 W'}",
            "It is less than 20 %: power grows faster than the clock.",
        ),
        why="Power grows faster than the clock, since a faster clock needs more voltage.",
    ),
    9: Exercise(
        question="How many DMA engines does this node need for the all-gather (conccl)?",
        right=enough_engines,
        unit="engines",
        within=0.01,
        hints=(
            "Each GPU sends to all others. One copy is one command of one engine.",
            "Set gpu.dma_engines.count to 4, 5, 6, 7, 8.",
        ),
        why="One for each of the seven links; with six, one engine has two copies to do.",
    ),
    10: Exercise(
        question="On mi300x-8 without prefetch, what per cent of the step is exposed?",
        right=exposed_without_prefetch,
        unit="%",
        within=0.03,
        hints=("set={'parallel.prefetch': 0}, node='mi300x-8'", "exposed_s / wall_s, times 100."),
        why="Nothing computes while weights come; one layer ahead hides nearly all of it.",
    ),
}
