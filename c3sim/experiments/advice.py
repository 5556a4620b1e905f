"""Advice on one workload, iteration or trace: each knob of its backends tried alone, the good ones
together.

A knob has a few settings. The best of them is drawn: both runs at the same places of all that is
uncertain, so that what is unknown in both cancels (paired.py). Its gain is 1 - after / before of
the run as it is, which is one of the ways that all may be: the band holds it, and reaches from the
5th to the 95th percentile of the draws. A gain whose band reaches below zero is no advice.

Half of the draws come first. The others are left out where the band stays above zero by more than
its own width, or reaches below it by more than half as far as above.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.effort import Agree
from c3sim.evaluation.shares import Progress
from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import Parameter, around, parameters_of, settings_drawn
from c3sim.experiments.jobs import Workers, in_order
from c3sim.experiments.knobs import Knob, Setting, knobs_of
from c3sim.experiments.outputs import WALL
from c3sim.experiments.paired import DRAWS, FEW_DRAWS
from c3sim.experiments.points import PointRunner, Row, run_batch
from c3sim.experiments.setup import OF_WALL, Setup, code_hash
from c3sim.iterations.effort import effort_of
from c3sim.result.shown import Told
from c3sim.simulation.runs import of_one_node
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: A smaller gain is not drawn: nobody would see it among the repeats of a run.
WORTH_DRAWING = 0.002
MANY_TASKS = 100  # of a trace: its runs take as long as those of an iteration
WORTH_PROCESSES_S = 5.0  # seconds of runs from which other processes pay
MOST_PROCESSES = 8
LIKELY_DRAWN = 4  # variants, as it is and together among them


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """A *setting* of a *knob*, the best of those *tried* (its wall time [s] by setting). *gain*:
    part of the wall time that goes, from *low* to *high* in *draws*; None: it was not drawn.
    """

    knob: str
    setting: str
    wall_s: float
    gain: float
    low: float | None = None
    high: float | None = None
    draws: int = 0
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


@dataclass(frozen=True, slots=True)
class _Item:
    """One run: the variant *text* with values *settings* of the node."""

    text: str
    settings: Settings = ()


def _row(runner: PointRunner, item: _Item) -> Row:
    with of_one_node() if item.settings else nullcontext():
        return runner.row(item.text, "as_written", item.settings)


AS_IT_IS = ""


class _Trial:
    """Runs of variants of *workload*, as it is the first, on *node* and at draws of *parameters*,
    all variants at the same ones.
    """

    def __init__(
        self,
        workload: Workload,
        node: Node,
        parameters: Sequence[Parameter],
        agree: Agree | None = None,
        tell: Progress | None = None,
    ):
        few = isinstance(workload, Described) or len(workload.tasks) > MANY_TASKS
        half = (FEW_DRAWS if few else DRAWS) // 2 if parameters else 0
        self.halves = [settings_drawn(parameters, half, seed) for seed in (1, 2) if half]
        self.node, self.tell = node, tell or (lambda *_: None)
        self.variants = {AS_IT_IS: workload}
        self._known: dict[_Item, Row] = {}
        self.one = effort_of(workload, node)
        if isinstance(workload, Described):
            self.one = replace(self.one, seconds=OF_WALL * self.one.seconds)
        worth = 1 + int(WORTH_PROCESSES_S / max(self.one.seconds, 1e-9))
        self.workers = Workers(jobs=None, agree=agree, worth=worth, most=MOST_PROCESSES)

    def add(self, settings: Sequence[Setting]) -> str:
        """The name of the variant with *settings*. Raises InputError(s): it is not allowed."""
        workload = self.variants[AS_IT_IS]
        for each in settings:
            workload = each.on(self.node, workload)
        text = ", ".join(each.text for each in settings)
        self.variants[text] = workload
        return text

    def run(self, items: Sequence[_Item], what: str) -> None:
        """Run what of *items* is not known yet; *what* they are is told with how many are done."""
        missing = [each for each in dict.fromkeys(items) if each not in self._known]
        setup = Setup(
            node=self.node,
            workloads=self.variants,
            settings={text: {} for text in self.variants},
            outputs=(WALL,),
        )
        work = partial(run_batch, setup, setup.identity, code_hash(), _row)
        rows = in_order(
            work, missing, self.workers, lambda done, total, _: self.tell(what, done, total)
        )
        self._known.update(zip(missing, rows, strict=True))

    def why(self, text: str) -> str | None:
        """Why the variant *text* does not run; None: it does."""
        found: str | None = self._known[_Item(text)]["error"]
        return found

    def wall(self, text: str, settings: Settings = ()) -> float:
        """Wall time [s] of a variant that runs."""
        return float(self._known[_Item(text, settings)][WALL])

    def gain(self, text: str) -> float:
        return 1.0 - self.wall(text) / self.wall(AS_IT_IS)

    def drawn(self, text: str) -> list[float]:
        """Gains at the draws at which both runs are known."""
        pairs = [
            (_Item(AS_IT_IS, each), _Item(text, each)) for half in self.halves for each in half
        ]
        known = [
            (self._known[old], self._known[new])
            for old, new in pairs
            if old in self._known and new in self._known
        ]
        ran = [(old, new) for old, new in known if old["error"] is None and new["error"] is None]
        return [1.0 - new[WALL] / old[WALL] for old, new in ran]

    def band(self, text: str) -> list[float] | None:
        """Ends of the gain of the variant *text*; None: it was not drawn."""
        return around(self.gain(text), self.drawn(text), [self.gain(text)])

    def draw(self, texts: Sequence[str]) -> None:
        """Draw the variants *texts*, each until its verdict is clear."""
        for half in self.halves:
            texts = [text for text in texts if not self._clear(text)]
            if texts:
                names = (AS_IT_IS, *texts)
                self.run([_Item(text, at) for at in half for text in names], "draws")

    def _clear(self, text: str) -> bool:
        band = self.band(text)
        if band is None:
            return False
        low, high = band
        return 2 * low > high or 2 * low < -high

    def advice(self, knob: str, text: str, cost: str, tried: Mapping[str, float]) -> Advice:
        """The variant *text* as an advice, with the band of what was drawn of it."""
        low, high = self.band(text) or (None, None)
        drawn = len(self.drawn(text))
        return Advice(
            knob=knob,
            setting=text,
            wall_s=self.wall(text),
            gain=self.gain(text),
            low=low,
            high=high,
            draws=drawn,
            cost=cost,
            tried=tried,
        )


def advise(
    workload: Workload,
    loaded: LoadedNode,
    *,
    but: Container[str] = (),
    tell: Progress | None = None,
    agree: Agree | None = None,
) -> Advices:
    """Every knob of *workload* tried alone, the good ones together. Numbers of the node at *but*
    are not drawn. *tell* hears of the runs. Raises InputError: *agree* does not, or the workload
    does not run.
    """
    trial = _Trial(workload, loaded.node, parameters_of(loaded, but), agree, tell)
    knobs = knobs_of(workload, loaded.node)
    left_out = {knob.name: knob.missing for knob in knobs if knob.missing}
    every, best = _tried(trial, [knob for knob in knobs if not knob.missing], left_out)
    worth = [found for found in best.values() if trial.gain(found.text) > WORTH_DRAWING]
    trial.draw([each.text for each in worth])
    each = [
        trial.advice(knob.name, best[knob.name].text, knob.cost, every[knob.name])
        for knob in knobs
        if knob.name in best
    ]
    each.sort(key=lambda one: -one.gain)
    good = {one.knob: best[one.knob] for one in each if one.good}
    return Advices(
        workload=workload.name,
        node=loaded.node.name,
        wall_s=trial.wall(AS_IT_IS),
        each=each,
        together=_together(trial, good, left_out),
        draws=sum(len(half) for half in trial.halves),
        left_out=left_out,
    )


def _tried(
    trial: _Trial, knobs: Sequence[Knob], left_out: dict[str, str]
) -> tuple[dict[str, dict[str, float]], dict[str, Setting]]:
    """Wall times of each knob by setting, and its best setting. What has none, and why, goes into
    *left_out*. Raises InputError: the workload as it is does not run.
    """
    allowed: dict[str, list[Setting]] = {knob.name: [] for knob in knobs}
    why: dict[str, str] = {}
    for knob in knobs:
        for each in knob.settings:
            try:
                trial.add([each])
            except (InputError, InputErrors) as error:
                why.setdefault(knob.name, str(error).splitlines()[0])
            else:
                allowed[knob.name].append(each)
    draws = sum(len(half) for half in trial.halves[:1])
    trial.workers.ask(trial.one, len(trial.variants) + LIKELY_DRAWN * draws)
    trial.run([_Item(text) for text in trial.variants], "settings")
    if (wrong := trial.why(AS_IT_IS)) is not None:
        raise InputError(wrong)
    every, best = {}, {}
    for name, settings in allowed.items():
        ran = [each for each in settings if trial.why(each.text) is None]
        every[name] = {each.text: trial.wall(each.text) for each in ran}
        if ran:
            best[name] = min(ran, key=lambda each: trial.wall(each.text))
        else:
            first = trial.why(settings[0].text) if settings else None
            left_out[name] = why.get(name) or first or "no setting runs"
    return every, best


def _together(
    trial: _Trial, good: Mapping[str, Setting], left_out: dict[str, str]
) -> Advice | None:
    """The *good* ones, the best first, of which each adds to those before it; None where the first
    alone is as good. What adds nothing, or goes with no other, goes into *left_out*.
    """
    taken: list[Setting] = []
    text, idle = AS_IT_IS, []
    for knob, setting in good.items():
        try:
            tried = trial.add([*taken, setting])
            trial.run([_Item(tried)], "together")
        except (InputError, InputErrors):
            idle.append(knob)
            continue
        runs = trial.why(tried) is None
        if runs and trial.gain(tried) > WORTH_DRAWING + (trial.gain(text) if text else 0.0):
            taken, text = [*taken, setting], tried
        else:
            idle.append(knob)
    if idle:
        left_out["together"] = f"{', '.join(idle)}: adds nothing to the others"
    if len(taken) < 2:
        return None
    trial.draw([text])
    return trial.advice("together", text, "all of these", {})
