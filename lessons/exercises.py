"""The exercise of each lesson: a question, how the right answer is found, replies to typical
mistakes, and hints. Answers are computed, in ``answers.py``, where everybody can read how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import answers as of

SAME = 0.01  # relative: an answer that is so near to a typical mistake was made by it
UNITS = (1e3, 1e-3, 2**10, 2**-10, 1e2, 1e-2)  # between units of time and size, shares and per cent


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """*right* gives the answer in *unit*; *within*: the relative error that still counts as right.

    *mistakes*: a reply -> the numbers that the mistake leads to, or how they are computed.
    *hints*: one for each other wrong try, the last one again and again.
    """

    question: str
    right: Callable[[], float]
    unit: str
    within: float
    hints: Sequence[str]
    why: str
    mistakes: Mapping[str, Sequence[float] | Callable[[], Sequence[float]]] = field(
        default_factory=dict
    )

    def accepts(self, answer: float) -> bool:
        right = self.right()
        return abs(answer - right) <= self.within * abs(right)

    def mistake(self, answer: float) -> str:
        """The reply to a typical mistake; empty where *answer* is none."""
        for reply, found in self.mistakes.items():
            numbers = found() if callable(found) else found
            if any(abs(answer - each) <= SAME * abs(each) for each in numbers):
                return reply
        if any(self.accepts(answer * factor) for factor in (-1, *UNITS)):
            return f"the right digits, but not in {self.unit}."
        return ""


EXERCISES = {
    1: Exercise(
        question="For which size of the all-gather, in MiB, could overlap gain most?",
        right=of.best_size,
        unit="MiB",
        within=0.03,
        hints=(
            "The ideal is the longer of the two. When is the shorter one longest beside it?",
            "The gain is greatest where both take equally long alone. The GEMM takes 1.69 ms.",
        ),
        why="There both take equally long, and the ideal speedup is 2.",
        mistakes={
            "the all-gather is the longer one there. What is beyond the GEMM has nothing to hide"
            " behind.": (896, 1024, 1344),
            "the all-gather is the shorter one there. The GEMM could hide more.": (112, 224, 448),
        },
    ),
    2: Exercise(
        question="With task.gemm.k=4096 too, how long does the all-gather wait for room, in ms?",
        right=of.wait_of_half,
        unit="ms",
        within=0.05,
        hints=(
            "The number of rounds does not depend on k. What does one round take now?",
            "It waits for all rounds but the last one. Read tasks['gather'].room_s.",
        ),
        why="There are still four rounds, each half as long: it waits for three of them.",
        mistakes={
            "that is the wait with k = 8192. A tile has half the work now.": lambda: (
                of.waits_otherwise()[:1]
            ),
            "that is one round. How many does it wait for?": lambda: of.waits_otherwise()[1:2],
            "that is the whole GEMM. Its last round leaves room: 240 of 304 units.": lambda: (
                of.waits_otherwise()[2:]
            ),
        },
    ),
    3: Exercise(
        question=(
            "The all-gather has 224 MiB now. Of 8, 16, 24 ... 64 channels, what is the smallest"
            " number whose wall time is within 2 % of the best?"
        ),
        right=of.enough_channels,
        unit="channels",
        within=0.01,
        hints=(
            "Run the loop of this lesson with task.gather.size='224 MiB' as well.",
            "Which of the two is longer, and who decides the wall time then?",
        ),
        why="The GEMM is the longer one now. More channels only shorten what is hidden anyway.",
        mistakes={
            "that is enough for 896 MiB, where the all-gather is the longer one. Is it still?": (
                56,
                64,
            ),
            "so few make the all-gather the longer one.": (8, 16),
            "nearly; is that within 2 % of the best?": (24,),
        },
    ),
    4: Exercise(
        question="From which size on, in MiB, are engines quicker alone? (20 % are close enough.)",
        right=of.crossing,
        unit="MiB",
        within=0.2,
        hints=(
            "Look at the two lines of the picture: between which sizes do they cross?",
            "Halve the interval between 64 and 256 MiB a few times.",
        ),
        why="Engines have to be told what to do, some 40 us; from there on their rate wins.",
        mistakes={
            "compute units are still quicker there.": (1, 4, 16, 32),
            "engines are quicker there, but not from there on: go down.": (128, 256),
        },
    ),
    5: Exercise(
        question="For 256 MiB, how many pieces (1, 2, 4, 8, 16, 32) give the shortest wall time?",
        right=of.best_pieces,
        unit="pieces",
        within=0.01,
        hints=(
            "Call in_pieces(pieces, 256) in a loop.",
            "Fewer than one thinks: what does a piece cost, and what is there left to hide?",
        ),
        why="Every further piece adds a tail to each GEMM, and hides less than the one before.",
        mistakes={
            "that is the best number for 512 MiB.": (2,),
            "then nothing of the all-gather is hidden.": (1,),
            "so many pieces cost the GEMM more than they hide: look at the dashed line.": (
                8,
                16,
                32,
            ),
        },
    ),
    6: Exercise(
        question=(
            "8192 x 8192 in tiles of 256 x 224 on 304 compute units, one tile each at a time: how"
            " many tiles has the last round? (Pencil and paper.)"
        ),
        right=of.last_round,
        unit="tiles",
        within=0.001,
        hints=(
            "Tiles at the edge count as whole ones: round up in both directions.",
            "32 x 37 tiles; three rounds of 304 are full.",
        ),
        why="32 x 37 = 1184 = 3 x 304 + 272.",
        mistakes={
            "a part of a tile is a whole one: round up in both directions.": of.tiles_cut,
            "so many units have no tile in the last round.": (32,),
            "those are all tiles. How many are left after three full rounds?": (1184,),
        },
    ),
    7: Exercise(
        question="With 16 channels under sp: what per cent of the overlapped time saves nothing?",
        right=of.false_share,
        unit="%",
        within=0.03,
        hints=(
            "Saved is what both take one after the other, less the wall time.",
            "Both begin at once, so they overlap until the first one ends.",
        ),
        why="More than half of what the timeline shows as overlap bought nothing.",
        mistakes={
            "that is the share that was saved. Asked is the rest.": of.saved_share,
            "that is of the wall time. Asked is of the time in which both run.": of.share_of_wall,
        },
    ),
    8: Exercise(
        question="By how many per cent does a limit of 900 W instead of 750 W shorten the GEMM?",
        right=of.more_power,
        unit="%",
        within=0.05,
        hints=(
            "set={'gpu.clock.power_limit': '900 W'}",
            "It is less than 20 %: power grows faster than the clock.",
        ),
        why="Power grows faster than the clock, since a faster clock needs more voltage.",
        mistakes={
            "so it would be if the clock grew as the power does.": lambda: (
                20,
                100 - 100 * 75 / 90,
            ),
            "that is how much quicker it runs. Asked is how much shorter it takes.": of.quicker,
        },
    ),
    9: Exercise(
        question="How many DMA engines does this node need for the all-gather (conccl)?",
        right=of.enough_engines,
        unit="engines",
        within=0.01,
        hints=(
            "Each GPU sends to all others. One copy is one command of one engine.",
            "Set gpu.dma_engines.count to 4, 5, 6, 7, 8.",
        ),
        why="One for each of the seven links; with six, one engine has two copies to do.",
        mistakes={
            "a GPU sends to the others, not to itself.": (8,),
            "so many it has. Would fewer do?": (14,),
            "then one engine has two copies to do, and all wait for it.": (4, 5, 6),
        },
    ),
    10: Exercise(
        question="On mi300x-8 without prefetch, what per cent of the step is exposed?",
        right=of.exposed_without_prefetch,
        unit="%",
        within=0.03,
        hints=(
            "set={'parallel.prefetch': 0}, node='mi300x-8'",
            "overlap.exposed_s / wall_s, times 100.",
        ),
        why="Nothing computes while weights come; one layer ahead hides nearly all of it.",
        mistakes={
            "that is with one layer ahead, as the file has it.": lambda: of.shares_otherwise()[:1],
            "that is of the computation alone. Asked is of the whole step.": lambda: (
                of.shares_otherwise()[1:]
            ),
        },
    ),
    11: Exercise(
        question="How large an L2 do 32 workgroups need that find their lines with stores cached?",
        right=of.enough_cache,
        unit="KiB",
        within=0.03,
        hints=(
            "Each needs as many lines as it touches between two loads, and the line itself.",
            "distance(True) is 167; a line has 128 bytes.",
        ),
        why="32 times 168 lines of 128 bytes; a line less, and each leaves before it is wanted.",
        mistakes={
            "that is with stores past the cache.": of.enough_cache_for_loads,
            "that is of the twelve that fit into 2048 lines.": (12 * 168 / 8,),
        },
    ),
    12: Exercise(
        question="How many hardware queues bring the step in shards within 1 % of eight?",
        right=of.enough_queues,
        unit="queues",
        within=0.03,
        hints=(
            "sharded(2) is the step with two queues.",
            "Copies into gathers' buffers have a stream too. What must not stand behind products?",
        ),
        why="One for products, one for collectives, one for the copies before them.",
        mistakes={
            "in one queue a gather stands behind the layer that should hide it.": (1,),
            "a gather waits for its copy, which stands behind the layer then.": (2,),
            "that is all of CUDA's. Would fewer do?": (8,),
        },
    ),
}
