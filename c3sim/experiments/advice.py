"""Advice on one workload, iteration or trace: each knob of its backends tried alone, the good ones
together.

A knob has a few settings. The best of them is drawn: both runs at the same places of all that is
uncertain, so that what is unknown in both cancels (paired.py). Its gain is 1 - after / before, with
the 5th and the 95th percentile of the draws. A gain whose band reaches below zero is no advice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.effort import Effort
from c3sim.experiments.bands import parameters_of, spread, uncertainty
from c3sim.experiments.jobs import Workers
from c3sim.experiments.knobs import Knob, Setting, knobs_of
from c3sim.experiments.outputs import WALL
from c3sim.experiments.paired import DRAWS, FEW_DRAWS
from c3sim.iterations.described import evaluate
from c3sim.iterations.effort import effort_of
from c3sim.result.shown import Told
from c3sim.spec.iteration import Described
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: A smaller gain is not drawn: nobody would see it among the repeats of a run.
WORTH_DRAWING = 0.002
MANY_TASKS = 100  # of a trace: its runs take as long as those of an iteration
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """A *setting* of a *knob*, the best of those *tried* (its wall time [s] by setting). *gain*:
    part of the wall time that goes, from *low* to *high*; None: it was not drawn.
    """

    knob: str
    setting: str
    wall_s: float
    gain: float
    low: float | None = None
    high: float | None = None
    cost: str = ""
    tried: Mapping[str, float] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """True if the whole band is a gain."""
        return self.low is not None and self.low > 0.0

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": "take it" if self.good else "leave it"}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Advices(Told):
    """The outcome of each knob of *workload* on *node*, *wall_s* as it is, and of the good ones
    *together*; None: fewer than two are. *left_out*: knobs that cannot be tried, and why.
    """

    workload: str
    node: str
    wall_s: float
    each: Sequence[Advice]
    together: Advice | None
    draws: int
    left_out: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        whole = None if self.together is None else self.together.to_dict()
        each = [one.to_dict() for one in self.each]
        return {**asdict(self), "each": each, "together": whole}

    def to_frame(self) -> pd.DataFrame:
        """A row for each knob, the good ones together last: its columns are those of ``--json``."""
        import pandas as pd

        every = [*self.each, *([] if self.together is None else [self.together])]
        return pd.DataFrame([one.to_dict() for one in every]).drop(columns="tried")


class _Trial:
    """Runs of *workload* with settings; those that are drawn, always at the same places. *workers*
    are asked before the first.
    """

    def __init__(self, workload: Workload, loaded: LoadedNode, workers: Workers):
        self.workload, self.loaded, self.workers = workload, loaded, workers
        few = isinstance(workload, Described) or len(workload.tasks) > MANY_TASKS
        self.draws = (FEW_DRAWS if few else DRAWS) if parameters_of(loaded) else 0
        self.knobs = knobs_of(workload, loaded.node)
        settings = sum(len(knob.settings) for knob in self.knobs if not knob.missing)
        workers.ask(effort_of(workload, loaded.node), 1 + settings)
        self.wall = self._wall(workload)
        self._before: list[float | None] = []

    def changed(self, settings: Sequence[Setting]) -> Workload:
        """The workload with *settings*. Raises InputError(s)."""
        workload = self.workload
        for each in settings:
            workload = each.on(self.loaded.node, workload)
        return workload

    def _wall(self, workload: Workload) -> float:
        return evaluate(
            workload, self.loaded.node, "as_written", noted=False, stretched=False, wall_only=True
        ).wall_s

    def tried(self, knob: Knob) -> tuple[dict[str, float], Setting | None, str]:
        """Wall times by setting, the best one, and why the first of the others cannot be run."""
        walls: dict[str, float] = {}
        known: dict[str, Setting] = {}
        why = ""
        for each in knob.settings:
            try:
                walls[each.text] = self._wall(self.changed([each]))
            except (InputError, InputErrors) as error:
                why = why or str(error).splitlines()[0]
                continue
            known[each.text] = each
        best = min(walls, key=lambda text: walls[text], default=None)
        return walls, None if best is None else known[best], why

    def advice(
        self, knob: str, settings: Sequence[Setting], cost: str, tried: Mapping[str, float]
    ) -> Advice:
        """*settings* as an advice; drawn if they gain enough."""
        workload = self.changed(settings)
        text = ", ".join(each.text for each in settings)
        wall = tried[text] if text in tried else self._wall(workload)
        gain, band = 1.0 - wall / self.wall, dict[str, float]()
        if gain > WORTH_DRAWING and self.draws:
            band = self._band(workload)
        return Advice(
            knob=knob,
            setting=text,
            wall_s=wall,
            gain=gain,
            low=band.get("p5"),
            high=band.get("p95"),
            cost=cost,
            tried=tried,
        )

    def _drawn(self, workload: Workload) -> list[float | None]:
        rows = uncertainty(
            workload, self.loaded, "as_written", samples=self.draws, workers=self.workers
        ).rows
        return [row[WALL] if row["error"] is None else None for row in rows]

    def _band(self, workload: Workload) -> dict[str, float]:
        self._before = self._before or self._drawn(self.workload)
        pairs = zip(self._before, self._drawn(workload), strict=True)
        gains = [1.0 - new / old for old, new in pairs if old is not None and new is not None]
        return spread(gains) if gains else {}


def advise(
    workload: Workload,
    loaded: LoadedNode,
    *,
    tell: Tell | None = None,
    agree: Callable[[Effort], None] | None = None,
) -> Advices:
    """Every knob of *workload* tried alone, the good ones together. *tell* hears of the knobs.
    Raises InputError: *agree* does not.
    """
    tell = tell or (lambda *_: None)
    trial = _Trial(workload, loaded, Workers(jobs=1, agree=agree))
    knobs = trial.knobs
    found: list[Advice] = []
    good: list[Setting] = []
    left_out: dict[str, str] = {}
    for number, knob in enumerate(knobs):
        tell("knobs", number, len(knobs) + 1)
        if knob.missing:
            left_out[knob.name] = knob.missing
            continue
        walls, best, why = trial.tried(knob)
        if best is None:
            left_out[knob.name] = why
            continue
        found.append(trial.advice(knob.name, [best], knob.cost, walls))
        good += [best] if found[-1].good else []
    tell("knobs", len(knobs), len(knobs) + 1)
    together = None
    if len(good) > 1:
        try:
            together = trial.advice("together", good, "all of these", {})
        except (InputError, InputErrors) as error:
            left_out["together"] = str(error).splitlines()[0]
    return Advices(
        workload=workload.name,
        node=loaded.node.name,
        wall_s=trial.wall,
        each=sorted(found, key=lambda each: -each.gain),
        together=together,
        draws=trial.draws,
        left_out=left_out,
    )
