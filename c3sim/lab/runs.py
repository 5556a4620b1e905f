"""A choice run, explained, drawn and with its band: plain data for the page.

The same functions as everywhere else are called; nothing is computed here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from c3sim import api
from c3sim.errors import C3simError, InputError
from c3sim.evaluation.losses import OVERLAP_LOSES
from c3sim.evaluation.notes import IDLE, LOSES
from c3sim.evaluation.shares import Progress
from c3sim.evaluation.trust import NEARBY
from c3sim.iterations.effort import effort_of
from c3sim.iterations.glance import Glance, glance
from c3sim.iterations.result import IterationResult
from c3sim.lab.choice import Choice
from c3sim.lab.knobs import RESERVED, Knob, knobs_of
from c3sim.output.page.timeline import account_of, compact_glance, compact_run
from c3sim.output.tables.run import COMPARED
from c3sim.result import Result
from c3sim.simulation.simulate import uncollected
from c3sim.spec.hardware import Node
from c3sim.spec.reading.files import kept
from c3sim.spec.reading.loading import (
    is_iteration,
    load_hardware,
    load_node,
    open_iteration,
    open_workload,
)
from c3sim.spec.reading.paths import canonical, get_value, paths_of
from c3sim.spec.workload import Workload

if TYPE_CHECKING:
    from c3sim.experiments.bands import Band

BAND_SAMPLES = 64  # a second or so; c3sim run --uncertainty draws 256
LONGEST = 30.0  # seconds of one run
AT_ONCE = 0.1  # seconds of a run up to which there is no first look before it
LIVE = 0.25  # seconds of a run up to which its causes follow before anything else is asked for
LATER = 300.0  # seconds of causes or of a band up to which they follow when nothing else is asked
CAUSES_RUNS = 16  # runs behind the causes of one, about
Suffix = Literal[".png", ".svg"]


@dataclass(frozen=True)
class Accounts:
    """The time by cause: of each of a few *tasks*, as the page draws it; of an iteration, and of
    many tasks, of *parts* of the whole.
    """

    tasks: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Answer to *choice*: a first *look*, a *result*, each with its picture as data, or the
    *problem*. *node*: the name of the machine.
    """

    choice: Choice
    look: Glance | None = None
    result: Result | None = None
    node: str = ""
    run: Mapping[str, Any] | None = None
    problem: str = ""
    effort: float = 0.0  # seconds that a run takes, about

    @property
    def name(self) -> str:
        """Name of the workload."""
        if self.result is not None:
            return self.result.workload
        return "" if self.look is None else self.look.workload.name

    @property
    def drawn(self) -> tuple[int, int] | None:
        """Layers of an iteration that are drawn, and all of a GPU."""
        if self.look is not None:
            return (self.look.drawn, self.look.layers) if self.look.layers else None
        if isinstance(self.result, IterationResult):
            return self.result.simulated, self.result.layers
        return None

    @property
    def at_once(self) -> bool:
        """True if its causes are so quick that they follow a slider."""
        return self.effort < LIVE

    def follows(self, runs: int) -> bool:
        """True if what takes so many *runs* is done here, sooner or later."""
        return self.run is not None and self.effort * runs < LATER

    @property
    def elsewhere(self) -> list[str]:
        """The place that has its causes and its band, if they are not here."""
        command = self.choice.command
        given = {
            f"where the time went: {command('explain')}": CAUSES_RUNS,
            f"the band: {command()} --uncertainty": BAND_SAMPLES,
        }
        texts = [text for text, runs in given.items() if not self.follows(runs)]
        if self.result is None or not texts:
            return []
        return [f"a run takes {self.effort:.1f} s; on the command line {text}" for text in texts]

    @property
    def warnings(self) -> list[str]:
        """Warnings: the model is outside what it was checked on, alone too; a choice loses time."""
        outside = ("outside the calibrated domain", "no measurement", "what-if")
        limits = ("more than the limit", "warning:")
        marks = (*outside, *limits, LOSES, OVERLAP_LOSES, IDLE)
        notes = () if self.result is None else self.result.notes
        marked = [note for note in notes if any(mark in note for mark in marks)]
        return [note for note in marked if NEARBY not in note]

    @property
    def remarks(self) -> list[str]:
        """The other notes."""
        notes = () if self.result is None else self.result.notes
        return [note for note in notes if note not in self.warnings]


def look_at(choice: Choice) -> Outcome:
    """Quick answer: the whole where it takes little, else a first look."""

    def looked() -> Outcome:
        workload, node, effort = _affordable(choice)
        if effort < AT_ONCE:
            return run_choice(choice)
        look = glance(workload, node, choice.strategy)
        run = compact_glance(look)
        return Outcome(choice=choice, look=look, run=run, effort=effort, node=node.name)

    return _or_problem(choice, looked)


def run_choice(choice: Choice, watch: Progress | None = None) -> Outcome:
    """The whole result with its timeline."""

    def ran() -> Outcome:
        effort = _affordable(choice)[-1]
        result = api.run(
            choice.workload,
            node=choice.node or None,
            strategy=choice.strategy,
            set=choice.settings,
            trace=True,
        )
        run = compact_run(result, {"tasks": {}})
        return Outcome(choice=choice, result=result, run=run, effort=effort, node=result.node)

    return _or_problem(choice, ran)


def _affordable(choice: Choice) -> tuple[Workload, Node, float]:
    """The models, and the seconds that a run takes, about. Raises InputError where it cannot follow
    a slider.
    """
    workload, node = api.prepare(choice.workload, choice.node or None, choice.settings)
    seconds = effort_of(workload, node, choice.strategy).seconds
    if seconds > LONGEST:
        message = f"this takes about {seconds:.0f} s; run it with: {choice.command()}"
        raise InputError(message)
    return workload, node, seconds


def _or_problem(choice: Choice, act: Callable[[], Outcome]) -> Outcome:
    """Result of *act*, or the mistake in the choice as its problem."""
    try:
        with uncollected():  # passes of the collector between its runs take a seventh of a look
            return act()
    except (C3simError, OSError) as error:
        return Outcome(choice=choice, problem=str(error))
    except Exception as error:  # a mistake of c3sim's own: the page says so and goes on
        return Outcome(choice=choice, problem=f"c3sim cannot run this: {error!r}")


def explain_choice(choice: Choice, watch: Progress | None = None) -> Accounts:
    """The time by cause; nothing where that cannot be told. *watch* hears of the runs."""
    node, strategy = choice.node or None, choice.strategy
    try:
        found = api.explain(
            choice.workload, node=node, strategy=strategy, set=choice.settings, progress=watch
        ).to_dict()
    except C3simError:  # it ran: the figures stand alone
        return Accounts()
    if 0 < len(found["tasks"]) <= COMPARED:
        return Accounts({name: account_of(task) for name, task in found["tasks"].items()})
    return Accounts({}, found["parts"])


def band_of(choice: Choice, watch: Progress | None = None, samples: int = 0) -> Band:
    """Band over the intervals of the machine by *samples* draws, 0: as many as the page has.
    *watch* hears of them. Raises C3simError.
    """
    from dataclasses import replace

    from c3sim.experiments.bands import uncertainty

    def watcher(done: int, total: int, _: int) -> None:
        if watch is not None:
            watch("band", done, total)

    loaded = load_hardware(choice.node or node_of(choice).name)
    workload, on = api.prepare(choice.workload, loaded, choice.settings)
    by_hand = {canonical(path) for path in choice.settings}
    samples = samples or BAND_SAMPLES
    held = replace(loaded, node=on)
    return uncertainty(
        workload, held, choice.strategy, samples=samples, but=by_hand, watcher=watcher
    )


def band_or_why(choice: Choice, watch: Progress | None = None) -> tuple[Band | None, str]:
    """The band, or why there is none."""
    try:
        return band_of(choice, watch), ""
    except C3simError as error:
        return None, getattr(error, "message", "") or str(error)


def classes_of(result: Result) -> list[tuple[str, float, float]]:
    """Operator class, time in which it runs, time in which only it runs [s]."""
    return [
        (name, times.busy_s, times.exposed_s)
        for name, times in result.overlap.classes.items()
        if times.busy_s
    ]


def model_of(choice: Choice) -> Workload:
    """The workload as its file has it; of an iteration its description on the machine. Raises
    C3simError.
    """
    if is_iteration(choice.workload):
        return api.prepare(choice.workload, choice.node or None)[0]
    return kept(open_workload, choice.workload).workload


def own_node(choice: Choice) -> str:
    """The machine that the file of the workload names. Raises C3simError."""
    if is_iteration(choice.workload):
        return open_iteration(choice.workload).iteration.node
    return model_of(choice).node


def node_of(choice: Choice) -> Node:
    """The machine as its file has it. Raises C3simError."""
    return load_node(choice.node or own_node(choice))


def knobs(choice: Choice) -> list[Knob]:
    """The sliders of *choice*. Raises C3simError."""
    return knobs_of(model_of(choice), node_of(choice), choice.strategy)


def value_now(choice: Choice, knob: Knob) -> Any:
    """Value of *knob*: the file's value, or what is set; a text that is no value as it is."""
    if knob.path == RESERVED:
        number = choice.strategy.partition(":")[2]
        return int(number) if number.isdigit() else None
    text = choice.settings.get(knob.path)
    if text is None:
        return knob.base
    try:
        model, node = api.prepare(choice.workload, choice.node or None, {knob.path: text})
        return get_value(node, model, knob.path)
    except (C3simError, ValueError):
        return text


def all_paths(choice: Choice) -> tuple[str, ...]:
    """Every path that can be set by name. Raises C3simError."""
    return paths_of(node_of(choice), model_of(choice))


def picture(result: Result, kind: Suffix) -> bytes:
    """The timeline as ``c3sim run --plot`` draws it."""
    from c3sim.output.pictures.timeline import plot_timeline

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"picture{kind}"
        plot_timeline(result, path)
        return path.read_bytes()
