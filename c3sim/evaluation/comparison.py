"""The results of one workload under several strategies, as a list and as a table of figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from c3sim.result import Result, figures_of
from c3sim.result.shown import Shown

if TYPE_CHECKING:
    import pandas as pd


class Comparison(list[Result], Shown):
    """A result for each strategy, in the order in which they were asked for. *left_out*: why those
    of all strategies that cannot apply are not there.
    """

    def __init__(self, results: Iterable[Result] = (), left_out: Mapping[str, str] | None = None):
        super().__init__(results)
        self.left_out = dict(left_out or {})

    def to_frame(self) -> pd.DataFrame:
        """A row per strategy: every figure of the run, and ``tasks.NAME.FIGURE`` of its tasks."""
        import pandas as pd

        return pd.DataFrame([_row(result) for result in self])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: strategy -> result."""
        return {result.strategy: result.to_dict() for result in self}

    def __repr__(self) -> str:
        if not self:
            return "Comparison of nothing\n\n"
        ranked = sorted(self, key=lambda result: result.wall_s)
        first, last = ranked[0], ranked[-1]
        return (
            f"Comparison: {first.workload} on {first.node}, {len(self)} strategies\n"
            f"shortest {first.strategy} {1e3 * first.wall_s:.4g} ms,"
            f" longest {last.strategy} {1e3 * last.wall_s:.4g} ms\n"
            "figures: .to_frame(); one strategy: the result at its place in the list"
        )


def _row(result: Result) -> dict[str, Any]:
    tasks = {
        f"tasks.{name}.{figure}": value
        for name, task in result.tasks.items()
        for figure, value in figures_of(task).items()
    }
    return {"strategy": result.strategy, **figures_of(result), **tasks}
