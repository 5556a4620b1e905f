"""The questions of the golden figures to c3sim: all that is packaged, and the cases of the laws."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from golden_figures import Figures, add, flat
from golden_mistakes import PARTS, elsewhere, messages

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from turns import has_turn  # noqa: E402

#: Studies that take long are asked for a part of what is the same again and again; all others are
#: whole. None has its band. What is left out so is asked as ``long/NAME``, where long pieces are.
LESS: dict[str, dict[str, Any]] = {
    "conccl-pool": {"strategies": ("base", "conccl")},
    "ficco": {"set": {"pieces.pieces": [1, 4]}},
}

LONG: dict[str, dict[str, Any]] = {"conccl": {"band": True}, "conccl-pool": {}, "ficco": {}}
SWEEPS = ("engine-sizing", "reducing-engines")  # constraints on the strategy: for sweeps alone


#: A sample has one in so many of the studies, mistakes and cases of the laws; of iterations and
#: workloads one in FEWER.
TURNS, FEWER = 10, 5
LEFT_OUT = ("bert",)  # of a sample: a minute and a half by itself


class Piece(NamedTuple):
    """A function that makes some figures of the file *name*."""

    name: str
    make: Callable[[], Figures]


def pieces(
    validated: str | None, *, long: bool = False, turn: int | None = None
) -> Iterator[Piece]:
    """All pieces, the longest first, with *long* ones or without; of a sample those of its *turn*.
    *validated*: what ``c3sim validate --json`` printed; a sample without it has no suites.
    """

    def asked(names: Iterable[Any], of: int = TURNS) -> list[Any]:
        if turn is None:
            return list(names)
        left = [name for name in names if name not in LEFT_OUT]
        return left[turn % of :: of]

    for name in LONG if long else ():
        yield Piece(f"long/{name}", partial(_long_study, name))
    if validated or turn is None:
        yield Piece("suites", partial(_suites, validated))
    listed = _listed()
    for name in asked(listed["studies"]):
        yield Piece(f"studies/{name}", partial(_study, name))
    yield from (Piece("mistakes", partial(messages, part)) for part in asked(range(PARTS)))
    for name in listed["nodes"]:
        yield Piece(f"laws/{name}", partial(_laws, name, turn))
    for name in asked(listed["iterations"], FEWER):
        yield Piece("iterations", partial(_run_of, name))
    for name in asked(listed["workloads"], FEWER):
        yield Piece("workloads", partial(_compared, name))


def _listed() -> dict[str, list[str]]:
    """Kind -> names of what is packaged."""
    found = json.loads(_c3sim("list", "--json"))
    return {kind: [each["name"] for each in entries] for kind, entries in found.items()}


def _c3sim(*words: str) -> str:
    """The output of a command. A verdict that fails is one all the same."""
    command = [sys.executable, "-c", "from c3sim.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    return done.stdout


def _suites(validated: str | None) -> Figures:
    """Every figure of the packaged records, the case led by its suite."""
    text = Path(validated).read_text("utf-8") if validated else _c3sim("validate", "--json")
    found: Figures = {}
    for row in json.loads(text)["cases"]:
        unit = next(each for each in ("us", "w", "j") if row.get(f"measured_{each}") is not None)
        predicted, measured = row[f"predicted_{unit}"], row[f"measured_{unit}"]
        case = f"{row['suite']}\t{row['id']} {row['name']}"
        add(found, case, row["metric"], float(predicted))
        if row["error_given_isolated"] is not None:
            given = measured * (1 + row["error_given_isolated"])
            add(found, case, f"{row['metric']}, given isolated times", given)
    return found


def _study(name: str) -> Figures:
    import c3sim

    if name in SWEEPS:
        with elsewhere():
            rows = c3sim.sweep(name, jobs=1).to_frame().to_dict("records")
        return flat(name, rows)
    asked = {"band": False, "n_jobs": 1, **LESS.get(name, {})}
    return flat(name, c3sim.study(name, **asked).to_dict())


def _long_study(name: str) -> Figures:
    import c3sim

    return flat(name, c3sim.study(name, **{"band": False, "n_jobs": 1, **LONG[name]}).to_dict())


def _run_of(name: str) -> Figures:
    import c3sim

    return flat(name, c3sim.run(name).to_dict())


def _compared(name: str) -> Figures:
    """A workload under every strategy that can apply to it."""
    import c3sim

    return flat(name, c3sim.compare(name).to_dict())


def _laws(node: str, turn: int | None) -> Figures:
    """The cases of the laws on *node*, or those of a sample's *turn*: their results, and what their
    timelines add up to.
    """
    import law_cases

    import c3sim

    found: Figures = {}
    for case in law_cases.CASES:
        in_turn = turn is None or has_turn(str(case), turn, TURNS)
        if case.node_name == node and in_turn:
            try:
                result = c3sim.run(case.workload, node=case.node, trace=True)
            except c3sim.C3simError as error:
                add(found, case.name, "mistake", str(error))
                continue
            found |= flat(case.name, {**result.to_dict(), "timeline": _sums(result.trace)})
    return found


def _sums(timeline: Any) -> dict[str, float]:
    """The number of spans of each row and the sums of their starts and ends [s]; of each counter
    the integral.
    """
    sums: dict[str, float] = {}
    for span in timeline.spans:
        values = {"spans": 1, "starts_s": span.start, "ends_s": span.end}
        for name, value in values.items():
            key = f"{span.track} {name}"
            sums[key] = sums.get(key, 0) + value
    for counter in timeline.counters:
        ends = [*counter.times[1:], timeline.end]
        steps = zip(counter.times, ends, counter.values, strict=True)
        sums[f"{counter.name} integral"] = sum((b - a) * value for a, b, value in steps)
    return sums
