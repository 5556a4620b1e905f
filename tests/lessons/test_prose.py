"""Every figure that the lessons' prose gives is that of a run, a record or a node file.

A row: the words of the prose with places for numbers, and how the numbers are found. They are put
in with the digits that the prose has, so a model that moves is seen here.
"""

import re
import sys
from functools import cache

import pytest
from places import ROOT

import c3sim

FOLDER = ROOT / "lessons"
sys.path.insert(0, str(FOLDER))

from answers import PAIR, STEP, WIDE, crossing, last_round  # noqa: E402
from exercises import EXERCISES  # noqa: E402
from pieces import in_pieces  # noqa: E402
from records import iteration, rows  # noqa: E402

NODE = c3sim.load_hardware("mi300x-8").node
ENGINES, LINKS = NODE.gpu.dma_engines, NODE.links
UNITS, LIMIT = NODE.gpu.compute_unit_count, NODE.gpu.clock.power_limit
#: A number with a unit of a figure. Sizes in MiB and counts of pieces are what is asked for.
FIGURE = r"(?<![\w.-])\d[\d.]*\s(?:ms|us|s|%|GB/s|kB|W|tiles|units|compute units)(?!\w)"


@cache
def run(strategy="as_written", workload=PAIR, **settings):
    changes = {path.replace("__", "."): value for path, value in settings.items()}
    return c3sim.run(workload, strategy=strategy, set=changes)


@cache
def step():
    return c3sim.run(STEP, node="mi300x-8")


@cache
def longer(limit):
    """Per cent that one unit less costs the GEMM alone."""
    power = {"gpu__clock__power_limit": f"{limit} W"}
    less = run(workload="gemm-alone", stream__compute__compute_units=UNITS - 1, **power)
    return 100 * (less.wall_s / run(workload="gemm-alone", **power).wall_s - 1)


@cache
def measured(suite, name, task, alone=False, node=""):
    (row,) = (r for r in rows(suite, [name], node) if (r.task, r.alone) == (task, alone))
    return row.measured


def ms(seconds):
    return 1e3 * seconds


def alone(task):
    return ms(run().tasks[task].isolated_s)


def tiles():
    return run().tasks["gemm"].detail["tiles"]


def wide():
    """The GEMM of lesson 2."""
    return c3sim.run(PAIR, set=WIDE).tasks["gemm"]


def self_times():
    return ms(sum(task.time_s for task in run("sp").tasks.values()))


def most_channels():
    return run("sp", task__gather__channels="112").tasks["gather"].detail["channels"]


def small_us(**more):
    settings = {"task__gather__size": "64 KiB", **more}
    return 1e6 * run(workload="all-gather-alone", **settings).wall_s


def clock(name):
    return measured("h200_clock", f"8192^3 of {name}", "gemm", alone=True)


def saved(name, which):
    compute, communication, together = (each[which] for each in iteration(name).values())
    return ms(compute + communication - together)


FORWARD, TRAINING = "llama8b-fsdp-forward-2x4096", "llama8b-fsdp-training-1x4096"
#: Lesson -> words -> how their numbers are found.
FIGURES = {
    1: {
        "the GEMM takes {:.1f} ms and the all-gather {:.1f} ms": lambda: (
            alone("gemm"),
            alone("gather"),
        ),
        "`conccl` passes {:.0f} %": lambda: (100,),
    },
    2: {
        "The GEMM, 8192 x {} x 8192, takes {:.1f} ms alone": lambda: (
            WIDE["task.gemm.n"],
            ms(wide().isolated_s),
        ),
        "Here {} of {} units have": lambda: (wide().detail["tiles"] - 3 * UNITS, UNITS),
        "8192 of other lessons has {}, the": lambda: (last_round(),),
        "keep {} compute units from": lambda: (run("sp").tasks["gather"].detail["channels"],),
    },
    3: {"takes no more than {} of them, whatever it is allowed": lambda: (most_channels(),)},
    4: {"An all-gather of 64 KiB takes {:.0f} us": lambda: (small_us(),)},
    5: {
        "An all-gather of 512 MiB takes {:.1f} ms, the GEMM behind it {:.1f} ms": lambda: (
            ms(in_pieces(1, 512).tasks["gather"].isolated_s),
            ms(in_pieces(1, 512).tasks["gemm0"].isolated_s),
        )
    },
    6: {
        "A GEMM of {} tiles on {} compute units": lambda: (tiles(), UNITS),
        "On {} units {} tiles would still fit": lambda: (UNITS - 1, tiles()),
        "{} / {} = {:.2f}": lambda: (tiles(), UNITS - 1, tiles() / (UNITS - 1)),
        "The fifth round costs {:.0f} % at the highest clock": lambda: (longer(3000),),
        "With the limit of {:.0f} W it is only {:.0f} %": lambda: (LIMIT, longer(LIMIT)),
        "24 held units cost no more than 16": lambda: (),
    },
    7: {
        "the whole GEMM, {:.1f} ms, runs": lambda: (ms(run("sp").tasks["gemm"].end_s),),
        "It gives {:.1f} ms": lambda: (self_times() - ms(run("sp").wall_s),),
        "It is {:.1f} ms": lambda: (ms(run("sp").serial_s - run("sp").wall_s),),
        "The all-reduce takes {:.2f} ms alone": lambda: (bar(alone=True),),
    },
    8: {
        "the same GEMM takes {:.0f} % longer than on zeros": lambda: (
            100 * clock("random data at the power limit") / clock("zero data after a pause") - 100,
        )
    },
    9: {
        "An engine moves {:.1f} GB/s at most": lambda: (ENGINES.bandwidth / 1e9,),
        "has only {:.0f} kB on the way": lambda: (ENGINES.bytes_in_flight / 1e3,),
    },
    10: {
        "Communication alone takes {:.2f} s of a step, computation {:.2f} s": lambda: (
            step().communication_s,
            step().compute_s,
        ),
        "its profile shows only {:.1f} % of the step as exposed": lambda: (published(),),
        "predicted that {:.1f} ms are saved there": lambda: (saved(FORWARD, 1),),
    },
}


def bar(alone=False):
    name = "async_down_ar32.collective-gemm, async"
    return measured("h200_loops", name, "collective", alone, "h200-2")


def published():
    text = (ROOT / "docs" / "predictions" / "README.md").read_text(encoding="utf-8")
    return float(re.search(r"FSDP forward ([\d.]+) % \(predicted", text)[1])


def held(units):
    name = f"8192x8192x8192 of random data beside {units} held SMs"
    return measured("h200_gemm_beside_holds", name, "gemm")


def pieces(carrier):
    names = ("serial", *(f"uniform-fused-1d-{count}" for count in (2, 4, 8)))
    walls = {n: measured("h200_pieces", f"balanced, {n}, by {carrier}", "wall") for n in names}
    return min(walls, key=walls.get)


#: Lesson -> words that say a figure without its digits -> whether it is so.
SAID = {
    1: {
        "`base` reaches nothing": lambda: abs(run("base").fraction_of_ideal) < 0.02,
        "conccl` passes 100 %": lambda: run("conccl").fraction_of_ideal > 1,
    },
    4: {"That takes tens of microseconds": lambda: 20 < engines_cost() < 90},
    5: {
        "Copy engines gain most with four": lambda: pieces("dma") == "uniform-fused-1d-4",
        "NCCL gains with none": lambda: pieces("nccl") == "serial",
    },
    6: {
        "The model needs five": lambda: rounds_on(UNITS - 1) == 5,
        "24 held units cost no more than 16": lambda: held(24) <= held(16),
    },
    7: {"a bar of more than a millisecond": lambda: 1.0 < bar() < 1.5},
    10: {
        "In training two thirds of the communication are saved": lambda: (
            saved(TRAINING, 0) / ms(iteration(TRAINING)["communication"][0])
            == pytest.approx(2 / 3, abs=0.05)
        ),
        "In the forward pass nothing is": lambda: abs(saved(FORWARD, 0)) < 0.1,
    },
}


def engines_cost():
    return small_us(task__gather__backend="dma") - small_us()


def rounds_on(units):
    """Rounds take equally long at one clock: those of 304 units are four."""
    return round(4 * (1 + longer(3000) / 100)) if units == UNITS - 1 else None


@cache
def prose(lesson):
    (path,) = FOLDER.glob(f"{lesson:02}_*.py")
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(
        " ".join(line[2:] for line in lines if line.startswith("# ") and line[2:4] != "%%").split()
    )


@pytest.mark.parametrize("lesson", FIGURES)
def test_figures_of_the_prose_are_those_of_runs_and_records(lesson):
    left = prose(lesson)
    for words, found in FIGURES[lesson].items():
        told = words.format(*found())
        assert told in left, f"the prose has other figures than: {told}"
        left = left.replace(told, "")
    given = "limit of 750 W"  # said again where a figure is explained
    assert re.findall(FIGURE, left.replace(given, "")) == []


@pytest.mark.parametrize("lesson", SAID)
def test_what_the_prose_says_without_digits_is_so(lesson):
    for words, holds in SAID[lesson].items():
        assert words in prose(lesson) and holds(), words


def test_the_quarter_more_of_lesson_9_is_a_quarter():
    """Its settings are written out; they are 1.25 times what the node file has."""
    text = next(FOLDER.glob("09_*.py")).read_text(encoding="utf-8")
    now = {
        "links.bandwidth": (LINKS.bandwidth, 1e9),
        "links.raw_bandwidth": (LINKS.raw_bandwidth, 1e9),
        "gpu.dma_engines.bandwidth": (ENGINES.bandwidth, 1e9),
        "gpu.dma_engines.bytes_in_flight": (ENGINES.bytes_in_flight, 1e3),
        "gpu.hbm.bandwidth": (NODE.gpu.hbm.bandwidth, 1e12),
        "gpu.clock.power_limit": (LIMIT, 1.0),
    }
    for path, (value, unit) in now.items():
        given = float(re.search(rf'"{re.escape(path)}": "([\d.]+) ', text)[1])
        assert given * unit == pytest.approx(1.25 * value, rel=0.005), path


def test_figures_of_exercises_are_those_of_runs():
    """In hints and reasons, which nobody sees before an answer is wrong, or right."""
    gemm = f"The GEMM takes {alone('gemm'):.2f} ms."
    assert EXERCISES[1].hints[1].endswith(gemm)
    assert EXERCISES[4].why.startswith("Engines have to be told what to do, some 40 us")
    assert 25 < engines_cost() < 55 and 64 < crossing() < 128
    assert EXERCISES[6].why == f"32 x 37 = {tiles()} = 3 x {UNITS} + {tiles() - 3 * UNITS}."
    kept = run("sp").tasks["gather"].detail["channels"]
    exam = (FOLDER / "exam.py").read_text(encoding="utf-8")
    assert f"is launched first and keeps {kept} units" in exam
    assert set(re.findall(r"The GEMM takes ([\d.]+) ms", exam)) == {f"{ms(wide().isolated_s):.2f}"}
    assert set(re.findall(r"the GEMM of ([\d.]+) ms", exam)) == {f"{alone('gemm'):.2f}"}


def test_figures_that_the_lecturer_is_given_are_those_of_runs():
    text = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    assert f"on paper first: {wide().detail['tiles']} tiles, {UNITS} units" in text
    assert f'"{100 * step().overlap.exposed_s / step().wall_s:.0f} % exposed' in text
    assert f"One compute unit of {UNITS} is a third of a per cent" in text
    assert abs(100 / UNITS - 1 / 3) < 0.05
