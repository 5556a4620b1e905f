"""The best designs within limits: knobs of a study moved by Optuna towards its objectives, and the
front of what was found.

Designs are asked for a generation at a time, run side by side, and told in order; so the result depends on the seed alone,
whatever the number of workers. A design that cannot be run, or breaks a constraint, counts as tried and is never on the front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from c3sim.errors import InputError
from c3sim.input.loading import LoadedStudy, open_study
from c3sim.specs.hardware import Node
from c3sim.specs.study import Search
from c3sim.sweeps.executor import Workers, in_batches
from c3sim.sweeps.identity import code_hash, hash_of
from c3sim.sweeps.knobs import Knob, make_knobs
from c3sim.sweeps.outputs import output_names
from c3sim.sweeps.points import Cases, Settings, Setup
from c3sim.sweeps.samples import mean_row
from c3sim.sweeps.setup import checked_constraint, located, make_setup
from c3sim.sweeps.sweep import Watcher, cases_of

Row = dict[str, Any]
Design = tuple[str, Settings]  # strategy, settings


@dataclass(frozen=True, kw_only=True)
class Found:
    """Every design tried, in order: its *settings*, ``strategy``, outputs, ``error``; the numbers
    of those on the *front*.

    *objectives*: name -> whether more is better; *broken*: designs that a constraint forbids.
    """

    loaded: LoadedStudy
    setup: Setup
    knobs: tuple[Knob, ...]
    objectives: Mapping[str, bool]
    settings: Sequence[Settings]
    rows: Sequence[Row]
    front: Sequence[int]
    broken: int

    @property
    def failed(self) -> int:
        """Designs that could not be run, those that a constraint forbids apart."""
        return sum(row["error"] is not None for row in self.rows) - self.broken


def optimise(
    study: str | Path,
    *,
    node: Node | None = None,
    trials: int | None = None,
    seed: int | None = None,
    workers: Workers | None = None,
    watcher: Watcher | None = None,
) -> Found:
    """Search the designs of *study*; *node*, *trials* and *seed* replace its own.

    An output of a design is its mean over the study's scenarios. Raises InputError or InputErrors:
    Optuna missing, no ``search``, a wrong knob or objective, with file and line.
    """
    check_optuna()
    loaded = open_study(study)
    search = loaded.study.search
    if search is None:
        raise loaded.error("nothing to search; add search: {knobs: ..., objectives: ...}", "")
    setup = _with_objectives(loaded, make_setup(_without_axes(loaded), node), search)
    knobs = make_knobs(loaded, search, setup)
    values: dict[str, Sequence[object]] = {"scenario": tuple(setup.workloads)}
    values |= {
        name: knob.choices
        for knob in knobs
        if not knob.numeric
        for name in (knob.path, knob.written)
    }
    tests = [
        checked_constraint(loaded, f"constraints[{index}]", text, setup, values)
        for index, text in enumerate(loaded.study.constraints)
    ]
    objectives = {name: way.startswith("max") for name, way in search.objectives.items()}
    name = hash_of([loaded.study.name, setup.node.model_dump(mode="json"), seed, trials])
    work = partial(run_designs, setup, name, code_hash(), [test.text for test in tests])
    settings, rows = _search(
        search,
        knobs,
        objectives,
        trials or search.trials,
        search.seed if seed is None else seed,
        work,
        workers or Workers(),
        watcher,
    )
    broken = sum((row["error"] or "").startswith(_BROKEN) for row in rows)
    return Found(
        loaded=loaded,
        setup=setup,
        knobs=knobs,
        objectives=objectives,
        settings=settings,
        rows=rows,
        front=front_of(rows, objectives),
        broken=broken,
    )


_BROKEN = "constraint "  # what the error of a design begins with that breaks one


def check_optuna() -> None:
    """Raises InputError, naming the extra, where Optuna is not installed."""
    from importlib.util import find_spec

    if find_spec("optuna") is None:
        raise InputError("Optuna is not installed; run: pip install 'c3sim[explore]'")


def _without_axes(loaded: LoadedStudy) -> LoadedStudy:
    """Axes and outputs are those of a sweep of the same file."""
    plain = loaded.study.model_copy(
        update={"axes": {}, "linked": (), "outputs": ("wall_s", "fraction_of_ideal")}
    )
    return LoadedStudy(study=plain, file=loaded.file, places=loaded.places)


def _with_objectives(loaded: LoadedStudy, setup: Setup, search: Search) -> Setup:
    """*setup* with the objectives, the study's outputs and its costs as outputs."""
    from dataclasses import replace

    workloads = list(setup.workloads.values())
    for name in search.objectives:
        place = f"search.objectives.{name}" if name.isidentifier() else "search.objectives"
        try:
            found = output_names([name], loaded.study.costs, workloads)
        except InputError as error:
            message = (
                f"{error.message}; a cost of your own is defined under costs: {{NAME: expression}}"
            )
            raise loaded.error(message, place) from None
        if found != (name,):
            raise loaded.error(
                f"{name!r} is no single output; name one, such as fraction_of_ideal", place
            )
    wanted = (*search.objectives, *loaded.study.outputs, *loaded.study.costs)
    return replace(
        setup,
        outputs=located(loaded, "", partial(output_names, wanted, loaded.study.costs, workloads)),
    )


def _search(
    search: Search,
    knobs: Sequence[Knob],
    objectives: Mapping[str, bool],
    trials: int,
    seed: int,
    work: Callable[[Sequence[tuple[int, Design]]], list[tuple[int, Row]]],
    workers: Workers,
    watcher: Watcher | None,
) -> tuple[list[Settings], list[Row]]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers: dict[str, Any] = {
        "nsga2": lambda: optuna.samplers.NSGAIISampler(
            population_size=search.generation, seed=seed
        ),
        "tpe": lambda: optuna.samplers.TPESampler(multivariate=False, seed=seed),
    }
    directions: Any = ["maximize" if more else "minimize" for more in objectives.values()]
    asked = optuna.create_study(directions=directions, sampler=samplers[search.sampler]())
    tell = watcher or (lambda *_: None)
    settings: list[Settings] = []
    rows: list[Row] = []
    memory: dict[Design, Row] = {}
    tell(0, trials, 0)
    while len(rows) < trials:
        generation = [asked.ask() for _ in range(min(search.generation, trials - len(rows)))]
        designs = [_design(trial, knobs) for trial in generation]
        new = list(dict.fromkeys(design for design in designs if design not in memory))
        with closing(in_batches(work, list(enumerate(new)), workers)) as batches:
            for batch in batches:
                memory |= {new[number]: row for number, row in batch}
        for trial, design in zip(generation, designs, strict=True):
            row = memory[design]
            values = [row[name] for name in objectives]
            good = row["error"] is None and None not in values
            asked.tell(
                trial, values if good else None, None if good else optuna.trial.TrialState.FAIL
            )
            settings.append(design[1])
            rows.append({**row, "strategy": design[0]})
        tell(len(rows), trials, sum(row["error"] is not None for row in rows))
    return settings, rows


def _design(trial: Any, knobs: Sequence[Knob]) -> Design:
    """What *trial* suggests: the strategy is a knob like others."""
    values = {knob.path: knob.suggest(trial) for knob in knobs}
    strategy = str(values.pop("strategy"))
    return strategy, tuple(values.items())


def run_designs(
    setup: Setup,
    name: str,
    code: str,
    constraints: Sequence[str],
    designs: Sequence[tuple[int, Design]],
) -> list[tuple[int, Row]]:
    """The mean row of each of *designs* by number."""
    from c3sim.input.expressions import parse_expression

    cases = cases_of(setup, name, code)
    tests = [parse_expression(text) for text in constraints]
    return [(number, _run(cases, tests, *design)) for number, design in designs]


def _run(cases: Cases, tests: Sequence[Any], strategy: str, settings: Settings) -> Row:
    nothing: Row = dict.fromkeys(cases.setup.outputs)
    try:
        for test in tests:
            if not all(
                cases.holds(test, scenario, strategy, settings)
                for scenario in cases.setup.workloads
            ):
                return {**nothing, "error": f"{_BROKEN}broken: {test.text}"}
    except InputError as error:
        return {**nothing, "error": str(error)}
    return mean_row(cases, strategy, settings)


def front_of(rows: Sequence[Mapping[str, Any]], objectives: Mapping[str, bool]) -> list[int]:
    """Numbers of the *rows* that no other beats: as good in every objective and better in one. Of
    equals, the first.

    *objectives*: name -> whether more is better. In order of the first objective, best first.
    """
    scored = [
        (tuple(-row[name] if more else row[name] for name, more in objectives.items()), number)
        for number, row in enumerate(rows)
        if row["error"] is None and all(row[name] is not None for name in objectives)
    ]
    kept: list[tuple[tuple[float, ...], int]] = []
    for score, number in sorted(scored):  # whoever beats one comes before it
        if not any(all(a <= b for a, b in zip(other, score, strict=True)) for other, _ in kept):
            kept.append((score, number))
    return [number for _, number in kept]
