"""Times of two runs, before and after, and the change by cause.

    wall        = computation alone and idle + contention + exposed communication
    task's time = isolated + waited for tasks + waited for room + ran slower

Each of these is taken after less before, so the differences of the parts add up to that of the
whole. Of explanations the parts are the causes of each task and of the wall time.

By number, where several were changed at once: the share of each in the difference is its mean
effect over all orders of changing them (Shapley values, see shares.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from c3sim.evaluation.shares import shapley
from c3sim.result.shown import Told

if TYPE_CHECKING:
    import pandas as pd

MOST_NUMBERS = 4  # of more all orders take too many runs
WALL = "wall"
#: Causes of a change of kernels in traces, and what is before the name of one among times.
NUMBER, ALONE, CONTENTION, KERNEL = "number of kernels", "a kernel alone", "contention", "kernel "


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A time *before* and *after* [s], None of a run that does not have it; *parts*: what each
    cause adds to the change.
    """

    before: float | None
    after: float | None
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def change(self) -> float | None:
        """After less before [s]."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Differences(Told):
    """*times* by name (``wall``, tasks, operator classes); *numbers*: what each changed number adds
    to the wall time [s]; *band*: 5th percentile, median and 95th of the change of the wall time [s]
    over draws of all that is uncertain in both; *about*: what differs, in words.
    """

    about: str
    times: Mapping[str, Difference]
    numbers: Mapping[str, float] = field(default_factory=dict)
    band: Mapping[str, float] = field(default_factory=dict)
    draws: int = 0

    @property
    def of_traces(self) -> bool:
        """True of two traces, which are told apart by class and kernel."""
        return any(NUMBER in each.parts for each in self.times.values())

    def to_frame(self) -> pd.DataFrame:
        """A row for each time [s]: before, after, change, and what each cause adds."""
        import pandas as pd

        rows = [
            {"before": each.before, "after": each.after, "change": each.change, **each.parts}
            for each in self.times.values()
        ]
        return pd.DataFrame(rows, index=pd.Index(self.times, name="time"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        data = asdict(self)
        for name, each in self.times.items():
            data["times"][name]["change"] = each.change
        return data


Parts = tuple[float, Mapping[str, float]]


def of_runs(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Difference]:
    """Differences of two results, as ``Result.to_dict`` gives them."""
    return _differences(dict(_of_run(before)), dict(_of_run(after)))


def of_explanations(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Difference]:
    """Differences of two explanations, as ``Explanation.to_dict`` gives them."""
    return _differences(dict(_of_explanation(before)), dict(_of_explanation(after)))


def by_number(wall: Callable[[frozenset[str]], float], numbers: Sequence[str]) -> dict[str, float]:
    """The part of each of *numbers* in the wall time [s]: *wall* with some of them changed. Nothing
    of one, which adds all, and of more than MOST_NUMBERS.
    """
    if not 1 < len(numbers) <= MOST_NUMBERS:
        return {}
    walls = {each: wall(each) for each in _subsets(numbers)}
    return shapley(numbers, lambda changed: walls[changed])


def _subsets(numbers: Sequence[str]) -> Iterator[frozenset[str]]:
    for count in range(len(numbers) + 1):
        yield from map(frozenset, combinations(numbers, count))


def _differences(before: Mapping[str, Parts], after: Mapping[str, Parts]) -> dict[str, Difference]:
    found = {}
    for name in dict.fromkeys((*after, *before)):
        was, now = before.get(name), after.get(name)
        parts = {}
        if was is not None and now is not None:
            causes = dict.fromkeys((*was[1], *now[1]))
            parts = {cause: now[1].get(cause, 0.0) - was[1].get(cause, 0.0) for cause in causes}
        old, new = (None if side is None else side[0] for side in (was, now))
        found[name] = Difference(before=old, after=new, parts=parts)
    return found


def _of_run(result: Mapping[str, Any]) -> Iterator[tuple[str, Parts]]:
    wall, exposed = result["wall_s"], result["exposed_s"]
    contention = result["stretched_s"] or 0.0
    own = {"computation alone and idle": wall - exposed - contention, "contention": contention}
    yield WALL, (wall, {**own, "exposed communication": exposed})
    for name, task in result.get("tasks", {}).items():
        yield (
            name,
            (
                task["time_s"],
                {
                    "isolated": task["isolated_s"],
                    "waited for tasks": task["predecessors_s"],
                    "waited for room": task["room_s"],
                    "ran slower": task["slower_s"],
                },
            ),
        )
    for name, times in result.get("classes", {}).items():
        if times["busy_s"] and not result.get("tasks"):
            yield name, (times["busy_s"], {})


def _of_explanation(found: Mapping[str, Any]) -> Iterator[tuple[str, Parts]]:
    for name, part in found["parts"].items():
        causes = {"nothing shared": part["unshared_s"], **part["causes_s"]}
        yield name, (part["time_s"], causes)
    for name, task in found["tasks"].items():
        causes = {"isolated": task["isolated_s"], **task["causes_s"]}
        yield f"task {name}", (task["time_s"], {**causes, "left over": task["left_over_s"]})
