"""What every kind of study is made of: how it is asked, what it returns, and what it can do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from c3sim.evaluation.effort import Effort
from c3sim.evaluation.shares import Progress
from c3sim.input.leaves import Leaf
from c3sim.output.kit import look
from c3sim.shown import Shown
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.studies.plain import ENTRIES, to_plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import RenderableType


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What the caller of a study decides; a kind reads what concerns it.

    *node* and *strategies* replace the study's own, *settings* are values by path (settings.py).
    *provenance* is what the file of *node* says about its values; without it no intervals of
    *node* are known. *band* = False skips the band of a c3 study, *draws* replaces its number of
    draws. *n_jobs* is the number of processes; left out: all cores where there are many cases.
    *agree* is told what is ahead before work begins, and raises where that is too much.
    """

    node: Node | None = None
    provenance: Mapping[str, Leaf] = field(default_factory=dict)
    strategies: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    band: bool = True
    draws: int | None = None
    n_jobs: int | None = None
    progress: Progress | None = None
    agree: Callable[[Effort], None] | None = None

    def ask(self, one: Effort, cases: int, jobs: int | None = None) -> None:
        """Whether to run so many *cases* that each take *one*; ``agree`` raises where not. *jobs*:
        of a kind that runs in fewer processes than it is given.
        """
        if self.agree is not None:
            self.agree(one.times(cases, jobs or self.n_jobs or (os.cpu_count() or 1)))

    def report(self, what: str, done: int, total: int) -> None:
        """Tell the caller how far *what* is."""
        if self.progress is not None:
            self.progress(what, done, total)


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    name: str
    node: str
    description: str
    source: str

    @classmethod
    def of(cls, study: Study, node: Node) -> About:
        return cls(
            name=study.name, node=node.name, description=study.description, source=study.source
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyResult(Shown):
    """What the results of all kinds begin with."""

    about: About = field(metadata=ENTRIES)

    @property
    def title(self) -> str:
        """The study and its node, as tables and pictures name them."""
        return f"{self.about.name} on {self.about.node}"

    def to_dict(self) -> dict[str, Any]:
        return dict(to_plain(self))

    def to_frame(self) -> pd.DataFrame:
        """A row per case; entries of entries have names with dots."""
        import pandas as pd

        return pd.json_normalize(self.to_dict()["rows"])


Found = TypeVar("Found", bound=StudyResult)


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind(Generic[Found]):
    """One kind of study: *run* it, show its result as *tables*, what matters most last, and *draw*
    it if it can be drawn.
    """

    run: Callable[[Study, Options], Found]
    tables: Callable[[Found], list[RenderableType]]
    draw: Callable[[Found], Figure] | None = None

    def picture(self, result: Found, path: str | PathLike[str] | None = None) -> Figure:
        """Draw *result*, and write it to *path* (PNG, SVG or PDF, by suffix) if given.

        Returns the figure. Raises InputError: an unknown suffix, a place that cannot be written.
        """
        draw = self.draw
        assert draw is not None  # the caller asks before the work
        return look.picture(lambda: draw(result), path)


def published_for(study: Study, node: Node) -> Mapping[str, Any]:
    """The published figures of *study*, which hold on its own node only."""
    return study.published if node.name == study.node else {}
