"""The best designs of a study: Optuna moves its knobs towards its objectives.

A knob is a path with choices, or with a range, continuous or in steps. Designs are proposed a
generation at a time, run side by side, and reported to Optuna in order. So the result depends on
the seed, not on the number of workers. A design that cannot be run, or breaks a constraint, counts
as tried and is never on the front: the designs whose scores no other score beats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.evaluation.strategies.table import unknown_strategy
from c3sim.experiments.axes import Settings, are_numbers, ends_of, make_axis
from c3sim.experiments.gain import DRAWS, Gain, Rows, gains
from c3sim.experiments.jobs import Watcher, Workers, in_order
from c3sim.experiments.outputs import output_names
from c3sim.experiments.points import PointRunner, Row, run_batch
from c3sim.experiments.setup import Setup, checked_constraints, code_hash, located, make_setup
from c3sim.result.shown import Told
from c3sim.spec.hardware import Node
from c3sim.spec.reading.documents import join
from c3sim.spec.reading.expressions import Expression
from c3sim.spec.reading.loading import LoadedNode, LoadedStudy, load_hardware, open_study
from c3sim.spec.reading.paths import canonical, is_whole, unit_of
from c3sim.spec.study import Range, Search, Values

if TYPE_CHECKING:
    import pandas as pd


def pareto_front(scores: Sequence[tuple[float, ...] | None]) -> list[int]:
    """Positions of the *scores* that no other one equals or beats in every number; less is better.

    Of equal scores the first counts; None is never on the front. Ordered by the first number.
    """
    known = ((score, position) for position, score in enumerate(scores) if score is not None)
    front: list[tuple[tuple[float, ...], int]] = []
    for score, position in sorted(known):  # a score that beats another comes before it
        if not any(all(a <= b for a, b in zip(other, score, strict=True)) for other, _ in front):
            front.append((score, position))
    return [position for _, position in front]


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A canonical *path* (or ``strategy``): *choices*, or a range between *ends*, in SI *unit*."""

    path: str
    written: str
    unit: str
    choices: tuple[Any, ...] = ()
    ends: tuple[float, float] = (0.0, 0.0)
    whole: bool = False
    log: bool = False

    @property
    def numeric(self) -> bool:
        return are_numbers(self.choices)

    def suggest(self, trial: Any) -> Any:
        """The value that Optuna's *trial* proposes."""
        if self.choices and self.numeric:
            return self.choices[trial.suggest_int(self.path, 0, len(self.choices) - 1)]
        if self.choices:
            return self.choices[trial.suggest_categorical(self.path, range(len(self.choices)))]
        low, high = self.ends
        if self.whole:
            return trial.suggest_int(self.path, int(low), int(high), log=self.log)
        return trial.suggest_float(self.path, low, high, log=self.log)


def make_knobs(loaded: LoadedStudy, search: Search, setup: Setup) -> tuple[Knob, ...]:
    """The knobs of a search, and last the strategy: of its own list, or of the study's.

    Raises InputError with file and line.
    """
    knobs = []
    for path, values in search.knobs.items():
        if path != "strategy":
            with located(loaded, join("search.knobs", path)):
                knobs.append(_knob(path, values, setup))
    strategies = search.knobs.get("strategy", loaded.study.strategies)
    place = "search.knobs.strategy" if "strategy" in search.knobs else "strategies"
    if isinstance(strategies, Range) or not strategies:
        raise loaded.error("must be a list of strategies", place)
    for name in strategies:
        if mistake := unknown_strategy(str(name)):
            raise loaded.error(mistake, place)
    paths = [knob.path for knob in knobs]
    repeated = [path for path in paths if paths.count(path) > 1]
    if repeated:
        raise loaded.error(f"two knobs of {repeated[0]}; a path is one knob", "search.knobs")
    return (*knobs, Knob(path="strategy", written="strategy", unit="", choices=strategies))


def _knob(path: str, values: Values, setup: Setup) -> Knob:
    workloads = list(setup.workloads.values())
    if not isinstance(values, Range) or values.steps is not None or values.factor is not None:
        axis = make_axis(path, values, setup.node, workloads)
        return Knob(path=axis.path, written=path, unit=axis.unit, choices=axis.values)
    for workload in workloads:
        unit, whole = unit_of(setup.node, workload, path), is_whole(setup.node, workload, path)
    low, high = sorted(ends_of(values, path, setup.node, workload))
    return Knob(
        path=canonical(path), written=path, unit=unit, ends=(low, high), whole=whole, log=values.log
    )


Design = tuple[str, Settings]  # strategy, settings
Work = Callable[[Sequence[tuple[int, Design]]], list[tuple[int, Row]]]
_BREAKS = "constraint broken: "  # begins the error of a design that breaks a constraint


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchResult(Told):
    """Every design tried, in order: its *settings*, and its row with strategy, outputs and error.

    *objectives*: name -> whether more is better. *front*: numbers of the best designs. *gains*: by
    objective, over what is there.
    """

    loaded: LoadedStudy
    setup: Setup
    knobs: tuple[Knob, ...]
    objectives: Mapping[str, bool]
    settings: Sequence[Settings]
    rows: Sequence[Row]
    front: Sequence[int]
    gains: Mapping[str, Gain]

    def to_frame(self) -> pd.DataFrame:
        """A row for each design, in the order tried: knobs, outputs, ``error``, ``on_front``."""
        import pandas as pd

        front = set(self.front)
        rows = [
            {**dict(knobs), **row, "on_front": number in front}
            for number, (knobs, row) in enumerate(zip(self.settings, self.rows, strict=True))
        ]
        return pd.DataFrame(rows, index=pd.RangeIndex(len(rows), name="design"))

    @property
    def directions(self) -> dict[str, str]:
        """Objective -> ``maximise`` or ``minimise``."""
        return {n: "maximise" if more else "minimise" for n, more in self.objectives.items()}

    @property
    def broken(self) -> int:
        """Designs that break a constraint."""
        return sum((row["error"] or "").startswith(_BREAKS) for row in self.rows)

    @property
    def failures(self) -> list[str]:
        """Errors of designs that could not be run; a broken constraint is none."""
        errors = (row["error"] for row in self.rows)
        return [error for error in errors if error and not error.startswith(_BREAKS)]


def optimise(
    study: str | Path,
    *,
    node: Node | LoadedNode | None = None,
    trials: int | None = None,
    seed: int | None = None,
    workers: Workers | None = None,
    watcher: Watcher | None = None,
) -> SearchResult:
    """Search the designs of *study*; *node*, *trials* and *seed* replace its own.

    An output of a design is its mean over the study's scenarios. Raises InputError(s): Optuna
    missing, no ``search``, a wrong knob or objective, with file and line.
    """
    check_optuna()
    loaded = open_study(study)
    search = loaded.study.search
    if search is None:
        raise loaded.error("nothing to search; add search: {knobs: ..., objectives: ...}", "")
    known = load_hardware(loaded.study.node) if node is None else node
    intervals = known if isinstance(known, LoadedNode) else None
    setup = _setup(loaded, search, node.node if isinstance(node, LoadedNode) else node)
    knobs = make_knobs(loaded, search, setup)
    row = partial(_row, checked_constraints(loaded, setup, _words(setup, knobs)))
    search = search.changed(
        trials=trials or search.trials, seed=search.seed if seed is None else seed
    )
    objectives = {name: way.startswith("max") for name, way in search.objectives.items()}
    work = partial(run_batch, setup, setup.identity, code_hash(), row)
    workers = workers or Workers()
    workers.ask(setup.effort(), _runs(search) * len(setup.workloads))
    settings, rows = _tried(search, knobs, objectives, work, workers, watcher)
    return SearchResult(
        loaded=loaded,
        setup=setup,
        knobs=knobs,
        objectives=objectives,
        settings=settings,
        rows=rows,
        front=front_of(rows, objectives),
        gains=gains(
            objectives, settings, rows, knobs[-1].choices, intervals, _plain_runs(setup, workers)
        ),
    )


def _words(setup: Setup, knobs: Sequence[Knob]) -> dict[str, Sequence[object]]:
    """Texts that constraints may compare with, by path."""
    words: dict[str, Sequence[object]] = {"scenario": tuple(setup.workloads)}
    for knob in knobs:
        if not knob.numeric:
            words |= {knob.path: knob.choices, knob.written: knob.choices}
    return words


def _runs(search: Search) -> int:
    """Runs of a scenario: every design, and draws of the best and of what is there."""
    return search.trials + 2 * DRAWS * len(search.objectives)


def _plain_runs(setup: Setup, workers: Workers) -> Rows:
    """Runs designs whether or not they keep the constraints."""
    row = partial(_row, ())
    work = partial(run_batch, setup, setup.identity, code_hash(), row)
    return lambda designs: in_order(work, designs, workers)


def check_optuna() -> None:
    """Raises InputError, naming the extra, where Optuna is not installed."""
    from importlib.util import find_spec

    if find_spec("optuna") is None:
        raise InputError("Optuna is not installed; run: pip install 'c3sim[explore]'")


def _setup(loaded: LoadedStudy, search: Search, node: Node | None) -> Setup:
    """The study without its axes; its outputs are objectives, the study's outputs, and costs."""
    study = loaded.study
    update = {"axes": {}, "linked": (), "outputs": ("wall_s", "fraction_of_ideal")}
    setup = make_setup(replace(loaded, study=study.changed(**update)), node)
    workloads = list(setup.workloads.values())
    for name in search.objectives:
        place = f"search.objectives.{name}" if name.isidentifier() else "search.objectives"
        try:
            names = output_names([name], study.costs, workloads)
        except InputError as error:
            hint = "a cost of your own is defined under costs: {NAME: expression}"
            raise loaded.error(f"{error.message}; {hint}", place) from None
        if names != (name,):
            message = f"{name!r} is no single output; name one, such as fraction_of_ideal"
            raise loaded.error(message, place)
    with located(loaded, ""):
        wanted = (*search.objectives, *study.outputs, *study.costs)
        return replace(setup, outputs=output_names(wanted, study.costs, workloads))


def _tried(
    search: Search,
    knobs: Sequence[Knob],
    objectives: Mapping[str, bool],
    work: Work,
    workers: Workers,
    watcher: Watcher | None,
) -> tuple[list[Settings], list[Row]]:
    """Settings and rows of all designs; a design that is proposed again is not run again. Where no
    more designs than trials are possible, each is tried once.
    """
    import optuna

    if every := _every(knobs, search.trials):
        found = zip(every, in_order(work, every, workers, watcher), strict=True)
        return [each[1] for each in every], [{**row, "strategy": each[0]} for each, row in found]
    watcher = watcher or (lambda *_: None)
    optimiser = _optimiser(search, objectives)
    settings: list[Settings] = []
    rows: list[Row] = []
    memory: dict[Design, Row] = {}
    watcher(0, search.trials, 0)
    while len(rows) < search.trials:
        count = min(search.generation, search.trials - len(rows))
        trials = [optimiser.ask() for _ in range(count)]
        designs = [_design(trial, knobs) for trial in trials]
        new = list(dict.fromkeys(design for design in designs if design not in memory))
        memory |= zip(new, in_order(work, new, workers), strict=True)
        for trial, design in zip(trials, designs, strict=True):
            row = memory[design]
            values = [row[name] for name in objectives]
            if row["error"] is None and None not in values:
                optimiser.tell(trial, values)
            else:
                optimiser.tell(trial, state=optuna.trial.TrialState.FAIL)
            settings.append(design[1])
            rows.append({**row, "strategy": design[0]})
        watcher(len(rows), search.trials, sum(row["error"] is not None for row in rows))
    return settings, rows


def _every(knobs: Sequence[Knob], most: int) -> list[Design]:
    """All designs of *knobs*, of which the strategy is the last; none where they are more than
    *most*, or a knob is a range.
    """
    if math.prod(len(knob.choices) or most + 1 for knob in knobs) > most:
        return []
    paths = [knob.path for knob in knobs[:-1]]
    return [
        (str(strategy), tuple(zip(paths, values, strict=True)))
        for *values, strategy in product(*(knob.choices for knob in knobs))
    ]


def _optimiser(search: Search, objectives: Mapping[str, bool]) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler: Any
    if search.sampler == "nsga2":
        sampler = optuna.samplers.NSGAIISampler(population_size=search.generation, seed=search.seed)
    else:
        sampler = optuna.samplers.TPESampler(multivariate=False, seed=search.seed)
    directions: Any = ["maximize" if more else "minimize" for more in objectives.values()]
    return optuna.create_study(directions=directions, sampler=sampler)


def _design(trial: Any, knobs: Sequence[Knob]) -> Design:
    """The design that *trial* proposes; the strategy is one of the knobs."""
    values = {knob.path: knob.suggest(trial) for knob in knobs}
    strategy = str(values.pop("strategy"))
    return strategy, tuple(values.items())


def _row(constraints: Sequence[Expression], runner: PointRunner, design: Design) -> Row:
    """The mean row of *design*; one that breaks a constraint is not run."""
    empty: Row = dict.fromkeys(runner.setup.outputs)
    try:
        for constraint in constraints:
            if not all(runner.holds(constraint, name, *design) for name in runner.setup.workloads):
                return {**empty, "error": f"{_BREAKS}{constraint.text}"}
    except InputError as error:
        return {**empty, "error": str(error)}
    return runner.mean_row(*design)


def front_of(rows: Sequence[Row], objectives: Mapping[str, bool]) -> list[int]:
    """Numbers of the *rows* that no other beats, best in the first objective first.

    *objectives*: name -> whether more is better. A row with an error, or without a value, is left
    out.
    """
    return pareto_front(
        [
            tuple(-row[name] if more else row[name] for name, more in objectives.items())
            if row["error"] is None and all(row[name] is not None for name in objectives)
            else None
            for row in rows
        ]
    )
