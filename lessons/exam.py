"""Exam questions with answers. The model computes what is a figure, so that answers stay right;
``tools/reference_pages.py`` writes the sheet, and a test compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from answers import (
    PAIR,
    STEP,
    WIDE,
    enough_engines,
    exposed_without_prefetch,
    false_share,
    last_round,
    more_power,
)
from exercises import EXERCISES
from pieces import in_pieces
from queues_of_streams import sharded, tensor

import c3sim

PIECES = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Question:
    """*text* for the student; *answer* as the lecturer's sheet has it."""

    lesson: int
    points: int
    text: str
    answer: Callable[[], str]


def by_hand() -> str:
    serial, ideal, wall = 3.0 + 1.0, 3.0, 3.2
    speedup, most = serial / wall, serial / ideal
    fraction = (speedup - 1) / (most - 1)
    return (
        f"One after the other takes {serial:.0f} ms, the ideal {ideal:.0f} ms. The speedup is"
        f" {speedup:.2f} of {most:.2f}, so the fraction is {100 * fraction:.0f} %:"
        f" ({speedup:.2f} - 1) / ({most:.2f} - 1)."
    )


def twice_at_most() -> str:
    return (
        "The ideal is the longer of both, and their sum is never more than twice the longer one."
        f" It is 2 where both take equally long; here at about {EXERCISES[1].right():.0f} MiB."
    )


def waits() -> str:
    result = c3sim.run(PAIR, strategy="base", set=WIDE)
    gemm, gather = result.tasks["gemm"], result.tasks["gather"]
    tiles = gemm.detail["tiles"]
    assert isinstance(tiles, int)
    rounds = math.ceil(tiles / 304)
    hand = 1e3 * gemm.isolated_s * (rounds - 1) / rounds
    return (
        f"{tiles} / 304 is {tiles / 304:.2f}, so {rounds} rounds. The first channels run after"
        f" {rounds - 1} of them: {rounds - 1}/{rounds} of {1e3 * gemm.isolated_s:.2f} ms is"
        f" {hand:.2f} ms. The model says {1e3 * gather.room_s:.2f} ms."
    )


def fifth_round() -> str:
    tasks = c3sim.run(PAIR, strategy="sp", set=WIDE).tasks
    free = 304 - int(str(tasks["gather"].detail["channels"]))
    tiles = int(str(tasks["gemm"].detail["tiles"]))
    return (
        f"{tiles} / {free} is {tiles / free:.2f}: {math.ceil(tiles / free)} rounds instead of"
        f" {math.ceil(tiles / 304)}. And both share memory, caches and power."
    )


def channels() -> str:
    return (
        f"{EXERCISES[3].right():.0f}. The GEMM is the longer one, so the collective only has to"
        " stay hidden."
    )


def small_message() -> str:
    size = {"task.gather.size": "64 KiB"}
    units = c3sim.run("all-gather-alone", set=size).wall_s
    engines = c3sim.run("all-gather-alone", set={**size, "task.gather.backend": "dma"}).wall_s
    return (
        f"Compute units: {units * 1e6:.0f} us, engines {engines * 1e6:.0f} us. Commands have to be"
        " written, fetched and decoded, whatever the size."
    )


def pieces() -> str:
    walls = {size: [in_pieces(each, size).wall_s for each in PIECES] for size in (512, 64)}
    best = {size: PIECES[found.index(min(found))] for size, found in walls.items()}
    return (
        f"{best[512]} and {best[64]}. The all-gather of 64 MiB is so short that what pieces cost"
        " the GEMM is more than what they hide."
    )


def tail() -> str:
    return (
        f"32 x 37 = 1184 tiles, 3 x 304 = 912 in full rounds: {last_round():.0f} in the last one."
    )


def false_overlap() -> str:
    return (
        f"{false_share():.0f} % of it saved nothing. Both are slower beside each other, so bars"
        " are longer than the work; only isolated times may be summed."
    )


def power() -> str:
    return (
        f"{more_power():.0f} %, not 20 %. A faster clock needs a higher voltage, so power grows"
        " faster than the clock."
    )


def engines() -> str:
    count = enough_engines()
    slower = c3sim.run(PAIR, strategy="conccl", set={"gpu.dma_engines.count": count - 1}).wall_s
    right = c3sim.run(PAIR, strategy="conccl").wall_s
    return (
        f"{count:.0f}, one for each link. With {count - 1:.0f} one engine has two copies, and the"
        f" pair takes {slower / right:.1f} times as long."
    )


def exposed() -> str:
    step = c3sim.run(STEP, node="mi300x-8")
    overlap = step.overlap
    now, without = 100 * overlap.exposed_s / step.wall_s, exposed_without_prefetch()
    return (
        f"From {without:.0f} % to {now:.0f} %. The first gather and the last scatter stay exposed."
        f" Compute is stretched by {1e3 * (overlap.stretched_s or 0):.0f} ms: hiding is not free."
    )


def queues() -> str:
    pair = 100 * (1 - tensor(1) / tensor(8))
    step = 100 * (sharded(1) / sharded(8) - 1)
    return (
        f"The order of launches becomes that of starts: no rank's product keeps the gather of all"
        f" waiting, {pair:.0f} % less. In shards a gather stands behind the layer that should hide"
        f" it, or in front of one that could compute: {step:.0f} % more."
    )


QUESTIONS = (
    Question(
        1,
        3,
        "Two tasks take 3.0 ms and 1.0 ms alone, and 3.2 ms together. What is the fraction of"
        " ideal?",
        by_hand,
    ),
    Question(
        1,
        2,
        "Why can overlap of two tasks never more than halve the time? For which all-gather does it"
        " beside the GEMM of lesson 1?",
        twice_at_most,
    ),
    Question(
        2,
        3,
        "A GEMM of 1152 tiles is launched in front of an all-gather on 304 compute units. How long"
        " does the all-gather wait? The GEMM takes 1.89 ms alone.",
        waits,
    ),
    Question(
        2,
        2,
        "The all-gather is launched first and keeps 56 units. How many rounds has the GEMM?",
        fifth_round,
    ),
    Question(
        3,
        2,
        "An all-gather of 224 MiB beside the GEMM of 1.69 ms: is 64 channels too many? How many"
        " are enough?",
        channels,
    ),
    Question(4, 2, "64 KiB are gathered: on compute units or on engines? Why?", small_message),
    Question(
        5,
        3,
        "All-gathers of 512 MiB and of 64 MiB in front of the same GEMM: into how many pieces"
        " would you cut each?",
        pieces,
    ),
    Question(
        6, 2, "8192 x 8192 in tiles of 256 x 224 on 304 units: how many are in the tail?", tail
    ),
    Question(
        7,
        3,
        "A profiler shows a GEMM wholly beside an all-gather on 16 channels. Has all that overlap"
        " saved time? What may be summed?",
        false_overlap,
    ),
    Question(
        8,
        2,
        "The power limit rises from 750 W to 900 W, by 20 %. How much shorter is a large GEMM?",
        power,
    ),
    Question(
        9,
        2,
        "How many copy engines does a GPU with seven links need? What does one less cost?",
        engines,
    ),
    Question(
        10,
        4,
        "A training step of Llama 3 8B on eight MI300X prefetches one layer's weights. What does"
        " that do to exposed communication, and what does it cost?",
        exposed,
    ),
    Question(
        12,
        3,
        "On eight H200, why does one hardware queue help an all-gather that is launched before a"
        " product, and hurt a step in shards? By how much?",
        queues,
    ),
)


def sheet() -> str:
    """The page: questions, then answers."""
    total = sum(question.points for question in QUESTIONS)
    asked = [
        f"{number}. {question.text} *({question.points} points; lesson {question.lesson})*"
        for number, question in enumerate(QUESTIONS, 1)
    ]
    answered = [f"{number}. {each.answer()}" for number, each in enumerate(QUESTIONS, 1)]
    return (
        "# Exam\n\n"
        "Questions to the [lessons](lessons.md), then the answers. The model computes the figures"
        " of the answers;\n`python tools/reference_pages.py` writes this page, and a test compares."
        " Machine: eight MI300X.\n\n"
        f"## Questions\n\n{total} points, an hour. Paper, pencil, and c3sim where it helps.\n\n"
        + "\n".join(asked)
        + "\n\n## Answers\n\n"
        + "\n".join(answered)
        + "\n"
    )
