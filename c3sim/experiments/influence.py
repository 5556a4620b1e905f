"""The question which parameter of a node moves an output most, of a study or a workload by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from c3sim.errors import InputError
from c3sim.evaluation.strategies.table import STRATEGIES, unknown_strategy
from c3sim.experiments.bands import BAND_SAMPLES, Parameter, Sampler, parameters_of
from c3sim.experiments.jobs import WORTH_IT, Watcher, Workers
from c3sim.experiments.outputs import output_name
from c3sim.experiments.screening import ROOM_S, ROUND, RUNS, Screening, screen
from c3sim.experiments.sensitivity import (
    Sensitivity,
    Target,
    check_salib,
    make_target,
    sensitivity,
    workload_study,
)
from c3sim.spec.reading.kinds import kind_of
from c3sim.spec.reading.loading import open_study
from c3sim.spec.reading.paths import canonical
from c3sim.spec.words import with_article


@dataclass(frozen=True, kw_only=True)
class Question:
    """The one of *parameters* that moves *output* of *target* most is asked for: in *screened*
    runs, or 0: each one by itself, then Sobol indices and a band.
    """

    target: Target
    output: str
    about: str
    sampler: Sampler
    parameters: Sequence[Parameter]
    screened: int

    def answer(
        self,
        *,
        samples: int = 64,
        top: int = 8,
        band_samples: int = BAND_SAMPLES,
        seed: int = 1,
        watcher: Watcher | None = None,
    ) -> Sensitivity | Screening:
        """Effects of the parameters, the largest first."""
        found: Sensitivity | Screening
        if self.screened:
            found = screen(
                self.sampler,
                self.parameters,
                self.output,
                runs=self.screened,
                seed=seed,
                watcher=watcher,
            )
        else:
            found = sensitivity(
                self.sampler,
                self.parameters,
                self.output,
                samples=samples,
                top=top,
                band_samples=band_samples,
                seed=seed,
                watcher=watcher,
            )
        return replace(found, about=self.about)


def question(
    name: str,
    *,
    workers: Workers,
    node: str | None = None,
    strategy: str | None = None,
    output: str | None = None,
    screened: int | None = None,
    changes: Mapping[str, object],
) -> Question:
    """The question about *name*, a study, a workload or an iteration. Left out: *output* is the
    fraction of ideal, and nothing is screened; of an iteration it is wall time, in 96 first looks,
    or so many as take ROOM_S; where *screened* is given, in whole runs.

    Raises InputError: a name of another kind, a strategy or an output that is not known, SALib
    missing.
    """
    kind = kind_of(name, STRATEGIES)
    of_step = kind == "iteration"
    runs = screened if screened is not None else RUNS if of_step else 0
    if not runs:
        check_salib()
    wanted = output_name(output or ("wall_s" if of_step else "fraction_of_ideal"))
    if kind not in ("study", "workload", "iteration"):
        raise InputError(f"{name!r} is {with_article(kind)}; give a study or a workload")
    if strategy is not None and (mistake := unknown_strategy(strategy)):
        raise InputError(mistake, "--strategy")
    loaded = open_study(name) if kind == "study" else workload_study(name, strategy)
    target = make_target(loaded, node, strategy, changes, wanted)
    workers = replace(workers, worth=ROUND if runs else WORTH_IT)
    setup = target.setup
    if runs:
        setup = replace(setup, outputs=(wanted,))
        if screened is None:
            setup = replace(setup, looks=setup.wall_only)
            runs = min(runs, int(ROOM_S / setup.effort().seconds))
    return Question(
        target=target,
        output=wanted,
        about=f"{name} on {target.node.node.name}",
        sampler=Sampler(setup=setup, strategy=target.strategy, workers=workers),
        parameters=parameters_of(target.node, {canonical(path) for path in changes}),
        screened=runs,
    )
