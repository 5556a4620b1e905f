"""``--against``: the other run that a run, an explanation or a comparison is held against."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from c3sim.errors import InputError

if TYPE_CHECKING:
    from c3sim.evaluation.differences import Differences
    from c3sim.evaluation.effort import Agree
    from c3sim.experiments.paired import Side
    from c3sim.iterations.calibrated import Calibrated
    from c3sim.result import Result
    from c3sim.spec.reading.settings import Settings

UNSET = "unset"
LONGEST = 20  # digits of a whole number; a longer one is read as a float
SAME = 1e-9  # relative; a saved run that is run again takes as long

Against = Annotated[
    list[str] | None,
    Option(
        "--against",
        metavar="RUN.json|PATH=VALUE|NODE|STRATEGY|unset",
        help="Say what changed from another run, by cause, with its band. It is what 'run --json'"
        " has saved, or the same as this one but for a value, the node or the strategy; unset:"
        " without --set. May be repeated.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Given:
    """The question of a run: workload, node, strategy and changes."""

    workload: str
    node: str | None
    strategy: str
    settings: Settings
    calibrated: Calibrated | None = None
    """what the machine takes, of which a step was measured"""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``run --json``, which a later ``--against`` reads."""
        values = {path: str(value) for path, value in self.settings.items()}
        return {
            "workload": self.workload,
            "node": self.node,
            "strategy": self.strategy,
            "set": values,
        }


def other_of(given: Given, texts: Sequence[str]) -> tuple[Given, dict[str, Any] | None]:
    """The other run that *texts* of ``--against`` name, and what was saved of it, if it was. Raises
    InputError(s).
    """
    from c3sim.evaluation.strategies.table import strategy_name, unknown_strategy
    from c3sim.spec.reading import library
    from c3sim.spec.reading.settings import Settings, parse_settings

    other, saved = given, None
    for text in texts:
        if text.endswith(".json"):
            saved = saved_run(text)
            other = given_of(saved, text)
        elif text == UNSET:
            other = replace(other, settings=Settings())
        elif "=" in text:
            both = Settings({**other.settings, **parse_settings([text])})
            other = replace(other, settings=both)
        elif text in library.names("node") or text.endswith((".yaml", ".yml")):
            other = replace(other, node=text)
        else:
            if unknown_strategy(text):
                what = "neither a run's .json, PATH=VALUE, a node, a strategy nor 'unset'"
                raise InputError(f"{text!r} is {what}", "--against")
            other = replace(other, strategy=strategy_name(text))
    return other, saved


def saved_run(path: str) -> dict[str, Any]:
    """The run that 'c3sim run --json' left at *path*. Raises InputError: it is none."""
    from c3sim.evaluation.differences import WALL, of_runs
    from c3sim.spec.reading.files import LARGEST_SPEC, read_bytes

    try:
        data = json.loads(read_bytes(Path(path), LARGEST_SPEC), parse_int=_whole)
    except (ValueError, RecursionError):
        raise InputError("is not JSON; save a run by: c3sim run ... --json", "", path) from None
    message = "is no saved run; save one by: c3sim run ... --json"
    if not isinstance(data, dict) or not {"wall_s", "tasks", "given"} <= data.keys():
        raise InputError(message, "", path)
    try:
        found = of_runs(data, data)
        times = {n: 0.0 if each.after is None else each.after for n, each in found.items()}
        sound = times[WALL] > 0.0 <= min(times.values())
        sound &= all(math.isfinite(part) for each in found.values() for part in each.parts.values())
    except KeyError as error:
        raise InputError(f"{message} (it has no {error.args[0]})", "", path) from None
    except (TypeError, AttributeError, ArithmeticError):
        sound = False  # something stands where a number, or a table of them, does
    if not sound:
        raise InputError(f"{message} (its times are none)", "", path)
    return data


def _whole(digits: str) -> float:
    """Number of a file, infinite where no float is so large."""
    return int(digits) if len(digits) < LONGEST else float(digits)


def given_of(saved: Mapping[str, Any], path: str) -> Given:
    """The question of the *saved* run of *path*. Raises InputError where it does not say."""
    from c3sim.spec.reading.settings import Settings

    try:
        given = saved["given"]
        names = {name: given[name] for name in ("workload", "node", "strategy")}
        known = {**names, "node": "" if names["node"] is None else names["node"]}
        if not all(isinstance(name, str) for name in known.values()):
            raise TypeError
        if not isinstance(given["set"], dict):
            raise TypeError
        return Given(**names, settings=Settings(given["set"]))
    except (KeyError, TypeError, AttributeError):
        message = "does not say what was run; save it again by: c3sim run ... --json"
        raise InputError(message, "given", path) from None


def side_of(given: Given) -> Side:
    """Models of what was asked for; values that are set stand in the node. Raises InputErrors."""
    from c3sim.api import prepare
    from c3sim.experiments.paired import Side
    from c3sim.spec.reading.loading import load_hardware

    workload, node = prepare(given.workload, given.node, given.settings)
    if given.calibrated is not None:
        workload = given.calibrated.onto(workload, given.settings)
    loaded = load_hardware(given.node or workload.node)
    return Side(workload, replace(loaded, node=node), given.strategy)


def compared(
    before: Given,
    after: Given,
    saved: Mapping[str, Any] | None,
    result: Mapping[str, Any],
    agree: Agree,
) -> Differences:
    """The change from *before*, or from the run *saved* of it, to *after*, whose *result* is
    known.
    """
    from c3sim.evaluation.differences import Differences, by_number, of_runs
    from c3sim.iterations.described import evaluate

    sides = side_of(before), side_of(after)
    again = evaluate(sides[0].workload, sides[0].node.node, before.strategy, noted=False).to_dict()
    old = again if saved is None else saved
    what = about(before, after)
    if abs(again["wall_s"] / old["wall_s"] - 1) > SAME:
        times = of_runs(old, result)
        return Differences(about=f"{what}; run again it takes another time: no band", times=times)
    numbers = _changed(before, after) if _same_but_for_settings(before, after) else []
    band, draws = band_between(before, after, agree)
    return Differences(
        about=what,
        times=of_runs(old, result),
        numbers=by_number(lambda some: _wall(before, after, some), numbers),
        band=band,
        draws=draws,
    )


def compared_by_strategy(
    before: Given, after: Given, results: Sequence[Result], agree: Agree
) -> Differences:
    """The change from *before* to *after* under each strategy of the *results*, and the band of
    the one that is fastest now. Raises InputErrors.
    """
    from c3sim.api import compare
    from c3sim.evaluation.differences import WALL, Differences, of_runs

    names = [result.strategy for result in results]
    old = {
        each.strategy: each.to_dict()
        for each in compare(
            before.workload, node=before.node, strategies=names, set=before.settings
        )
    }
    times = {each.strategy: of_runs(old[each.strategy], each.to_dict())[WALL] for each in results}
    fastest = min(results, key=lambda result: result.wall_s).strategy
    one, other = (replace(given, strategy=fastest) for given in (before, after))
    band, draws = band_between(one, other, agree)
    what = f"{about(before, after)}; band of {fastest}"
    return Differences(about=what, times=times, band=band, draws=draws)


def band_between(before: Given, after: Given, agree: Agree) -> tuple[dict[str, float], int]:
    """The band of the difference of both wall times, and of how many draws."""
    from c3sim.cli.progress import sweep_progress
    from c3sim.experiments.paired import band_of_difference
    from c3sim.spec.reading.paths import canonical

    kept = {canonical(path) for path in (*before.settings, *after.settings)}
    with sweep_progress("draws") as watcher:
        return band_of_difference(side_of(before), side_of(after), kept, agree, watcher)


def _changed(before: Given, after: Given) -> list[str]:
    paths = dict.fromkeys((*before.settings, *after.settings))
    return [path for path in paths if before.settings.get(path) != after.settings.get(path)]


def _same_but_for_settings(before: Given, after: Given) -> bool:
    return replace(before, settings=after.settings) == after


def _wall(before: Given, after: Given, some: frozenset[str]) -> float:
    """Wall time [s] with *some* settings as *after* has them, the others as *before*."""
    from c3sim.iterations.described import evaluate
    from c3sim.spec.reading.settings import Settings

    values = {path: value for path, value in before.settings.items() if path not in some}
    values |= {path: value for path, value in after.settings.items() if path in some}
    side = side_of(replace(after, settings=Settings(values)))
    return evaluate(side.workload, side.node.node, after.strategy, noted=False).wall_s


def about(before: Given, after: Given) -> str:
    """The differences of both questions, in words."""
    said = [
        f"{name} {getattr(before, name) or 'its own'} -> {getattr(after, name) or 'its own'}"
        for name in ("workload", "node", "strategy")
        if getattr(before, name) != getattr(after, name)
    ]
    for path in _changed(before, after):
        values = (side.settings.get(path, "as in the files") for side in (before, after))
        said.append(f"{path} {' -> '.join(map(str, values))}")
    return "; ".join(said) or "nothing differs"
