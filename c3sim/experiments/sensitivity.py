"""The parameter that moves an output most, and the output's uncertainty.

- *One at a time*: each parameter at both ends of its interval, all others at their values.
- *Sobol*: the first-order index S1 is the share of the output's variance that a parameter explains
  alone; the total index ST is the share it has a part in. Saltelli's sampling and estimators, by
  SALib (Saltelli et al. 2010, doi:10.1016/j.cpc.2009.09.018).
- *Band*: all parameters drawn together (bands.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from c3sim.errors import InputError
from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import BAND_SAMPLES, Band, Parameter, Sampler, band_of, settings_at
from c3sim.experiments.jobs import Watcher
from c3sim.experiments.outputs import OUTPUTS, output_names
from c3sim.experiments.setup import Setup, make_setup
from c3sim.iterations.described import subject
from c3sim.result.shown import Told
from c3sim.spec.reading.loading import LoadedNode, LoadedStudy, load_hardware
from c3sim.spec.reading.settings import settings_of
from c3sim.spec.study import Scenario, Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Target:
    """The study *name*, run on *node*; *setup* holds what all runs share."""

    name: str
    strategy: str
    node: LoadedNode
    setup: Setup


def workload_study(name_or_path: str, strategy: str | None) -> LoadedStudy:
    """A workload as a study of one scenario; without *strategy* it runs as written."""
    workload = subject(name_or_path)
    return LoadedStudy(
        study=Study(
            schema_version=1,
            name=re.sub(r"[^A-Za-z0-9]+", "-", workload.name)[:100].strip("-") or "workload",
            node=workload.node,
            strategies=(strategy or "as_written",),
            scenarios=(Scenario(name=workload.name, workload=name_or_path),),
        )
    )


def make_target(
    loaded: LoadedStudy,
    node_name: str | None,
    strategy: str | None,
    changes: Mapping[str, object],
    output: str,
) -> Target:
    """The target that runs of *loaded* share; *node_name*, *strategy* and *changes* replace its own
    values.

    Raises InputError(s): a wrong study, change or *output*.
    """
    study = loaded.study
    node = load_hardware(node_name or study.node)
    scenarios = study.scenarios or (Scenario(name=study.name),)
    if changes:
        name = scenarios[0].workload or study.workload
        assert name is not None  # the schema asks for one of them
        workload = subject(name, node.node)
        settings_of(changes).apply(node.node, workload)  # so that an error names --set's path
        scenarios = tuple(
            scenario.changed(set={**scenario.set, **changes}) for scenario in scenarios
        )
    plain = study.changed(scenarios=scenarios, outputs=OUTPUTS, kind="sweep")
    setup = make_setup(replace(loaded, study=plain), node.node)
    try:
        outputs = output_names(
            (*OUTPUTS, "tasks.*.slowdown", output), study.costs, list(setup.workloads.values())
        )
    except InputError as error:
        raise InputError(error.message, "--output") from None
    if "*" in output:
        raise InputError(f"{output!r} is several; name one task", "--output")
    return Target(
        name=study.name,
        strategy=strategy or study.strategies[0],
        node=node,
        setup=replace(setup, outputs=outputs),
    )


_NEGLIGIBLE = 1e-9  # swing relative to the output


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """Sobol indices, each with half the width of its 95 % confidence interval."""

    first: float
    first_within: float
    total: float
    total_within: float


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Outputs with one *parameter* at its *low* and *high* end; None where the run failed."""

    parameter: Parameter
    low: Mapping[str, float | None]
    high: Mapping[str, float | None]
    index: Index | None = None

    def unknown(self, output: str) -> bool:
        """True if *output* has no value at an end."""
        return self.low.get(output) is None or self.high.get(output) is None

    def swing(self, output: str) -> float:
        """By how much the parameter alone moves *output*."""
        ends = self.low.get(output), self.high.get(output)
        return 0.0 if ends[0] is None or ends[1] is None else abs(ends[1] - ends[0])


@dataclass(frozen=True, kw_only=True, repr=False)
class Sensitivity(Told):
    """*base*: outputs with all parameters at their values; *effects*: the largest swing first."""

    output: str
    strategy: str
    base: Mapping[str, float | None]
    effects: Sequence[Effect]
    band: Band
    samples: int  # of Saltelli's scheme: runs = samples * (parameters + 2)
    dropped: int  # samples left out because a run failed
    idle: int  # parameters that do not move the output
    about: str = ""  # the question

    def to_frame(self) -> pd.DataFrame:
        """A row for each parameter that moves the output, the largest swing first: interval,
        output at both ends, swing, Sobol indices where they were asked for.
        """
        import pandas as pd

        rows = [
            {
                "low": each.parameter.low,
                "high": each.parameter.high,
                "unit": each.parameter.unit,
                "at_low": each.low.get(self.output),
                "at_high": each.high.get(self.output),
                "swing": each.swing(self.output),
                "first": None if each.index is None else each.index.first,
                "total": None if each.index is None else each.index.total,
            }
            for each in self.effects
        ]
        paths = [each.parameter.path for each in self.effects]
        return pd.DataFrame(rows, index=pd.Index(paths, name="parameter"))


def sensitivity(
    sampler: Sampler,
    parameters: Sequence[Parameter],
    output: str,
    *,
    samples: int = 64,
    top: int = 8,
    band_samples: int = BAND_SAMPLES,
    seed: int = 1,
    watcher: Watcher | None = None,
) -> Sensitivity:
    """Effects of *parameters* on *output*; the *top* ones get Sobol indices from *samples*.

    *samples* is a power of 2; the band has *band_samples*. Raises InputError: SALib missing, no
    parameter, an output without a value.
    """
    _check(sampler, parameters, samples)
    ends = 2 * len(parameters) + 1
    sampler.ask(ends + samples * (min(top, len(parameters)) + 2) + band_samples)
    base, effects = _one_at_a_time(sampler, parameters, watcher)
    value = base[output]
    if value is None:
        raise InputError(f"{output} has no value here; choose another one", "--output")
    moving = [e for e in effects if e.swing(output) > _NEGLIGIBLE * abs(value) or e.unknown(output)]
    moving.sort(key=lambda effect: -effect.swing(output))
    indices, dropped = _sobol(
        sampler, [effect.parameter for effect in moving[:top]], output, samples, seed, watcher
    )
    ranked = [
        Effect(parameter=e.parameter, low=e.low, high=e.high, index=indices.get(e.parameter.path))
        for e in moving
    ]
    band = band_of(sampler, parameters, band_samples, seed, watcher)
    return Sensitivity(
        output=output,
        strategy=sampler.strategy,
        base=base,
        effects=ranked,
        band=band,
        samples=samples,
        dropped=dropped,
        idle=len(effects) - len(moving),
    )


def _check(sampler: Sampler, parameters: Sequence[Parameter], samples: int) -> None:
    """Raises InputError: SALib missing, no parameter, *samples* that are no power of 2."""
    if samples < 2 or samples & (samples - 1):
        raise InputError(f"got {samples}; must be a power of 2, such as 64", "--samples")
    check_salib()
    if not parameters:
        name = sampler.setup.node.name
        message = f"no parameter of {name} has an interval: there is nothing to vary"
        raise InputError(message, "--node")


def check_salib() -> None:
    """Raises InputError, naming the extra, where SALib is not installed."""
    from importlib.util import find_spec

    if find_spec("SALib") is None:
        raise InputError("SALib is not installed; run: pip install 'c3sim[explore]'")


def _one_at_a_time(
    sampler: Sampler, parameters: Sequence[Parameter], watcher: Watcher | None
) -> tuple[dict[str, float | None], list[Effect]]:
    samples: list[Settings] = [()]
    for each in parameters:
        samples += [((each.path, each.at(0.0)),), ((each.path, each.at(1.0)),)]
    base, *rows = sampler.rows(samples, watcher)
    if base["error"] is not None:
        raise InputError(f"it does not run with every parameter at its value: {base['error']}")
    effects = [
        Effect(parameter=each, low=low, high=high)
        for each, low, high in zip(parameters, rows[::2], rows[1::2], strict=True)
    ]
    return base, effects


def _sobol(
    sampler: Sampler,
    parameters: Sequence[Parameter],
    output: str,
    samples: int,
    seed: int,
    watcher: Watcher | None,
) -> tuple[dict[str, Index], int]:
    """Indices by path, and how many samples were dropped."""
    if not parameters:
        return {}, 0
    import numpy as np
    from SALib.analyze import sobol as analysis
    from SALib.sample import sobol as scheme

    count = len(parameters)
    problem = {
        "num_vars": count,
        "names": [each.path for each in parameters],
        "bounds": [[0.0, 1.0]] * count,
    }
    places = scheme.sample(problem, samples, calc_second_order=False, seed=seed)
    rows = sampler.rows([settings_at(parameters, row) for row in places], watcher)
    values = np.array([np.nan if row[output] is None else row[output] for row in rows], dtype=float)
    groups = values.reshape(samples, count + 2)  # a sample of Saltelli's scheme each
    complete = groups[np.isfinite(groups).all(axis=1)]
    if len(complete) < 2 or np.ptp(complete) == 0:
        return {}, samples - len(complete)
    estimates = analysis.analyze(problem, complete.reshape(-1), calc_second_order=False, seed=seed)
    indices = {
        each.path: Index(
            first=float(estimates["S1"][i]),
            first_within=float(estimates["S1_conf"][i]),
            total=float(estimates["ST"][i]),
            total_within=float(estimates["ST_conf"][i]),
        )
        for i, each in enumerate(parameters)
    }
    return indices, samples - len(complete)
