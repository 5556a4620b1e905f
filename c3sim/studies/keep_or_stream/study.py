"""A study of kind ``keep_or_stream``: what cache policies gain beside collectives and copies.

Each scenario runs under each strategy, with cold operands and as the last turn of a loop left them,
under each policy. A gain is over the same without a policy; its band is that of draws of what is
known of caches and memory within intervals only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from c3sim.errors import InputError
from c3sim.evaluation.effort import RUNS, Effort, effort_of
from c3sim.experiments.bands import latin_hypercube, parameters_of, settings_at, spread
from c3sim.experiments.points import Settings
from c3sim.input.loading import LoadedNode, load_hardware, load_study
from c3sim.input.paths import set_si
from c3sim.simulation.runs import run_once
from c3sim.specs.study import Study
from c3sim.specs.workload import Workload
from c3sim.strategies.best import best_candidate
from c3sim.studies.cases import Case, study_cases
from c3sim.studies.keep_or_stream.policies import NONE, TRIED, warm
from c3sim.studies.kind import About, Options, StudyResult
from c3sim.studies.parallel import for_each

#: What is drawn: numbers of a node that caches and memory have.
DRAWN = ("gpu.cache_policies.", "gpu.memory_side_cache.", "gpu.hbm.", "gpu.l2.")
INPUTS = ("cold", "warm")
Gains = dict[tuple[str, str], list[tuple[float, float]]]  # by scenario, policy: wall, gain


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """*gain*: how much shorter the wall time is than without a policy, as a part of that."""

    scenario: str
    policy: str
    wall_s: float
    gain: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GainBand:
    """5th percentile, median and 95th of the gain over the draws."""

    scenario: str
    policy: str
    p5: float
    median: float
    p95: float


@dataclass(frozen=True, kw_only=True, slots=True)
class KeepOrStreamResult(StudyResult):
    """*rows* and *bands* in one order; scenarios are named with strategy and state of operands."""

    rows: Sequence[Row]
    bands: Sequence[GainBand]


def run(study: Study, options: Options) -> KeepOrStreamResult:
    """All scenarios under all policies. Raises InputError: a node without memory-side cache."""
    cases = _cases(study, options)
    node = cases[0].node
    if node.gpu.memory_side_cache is None or node.gpu.cache_policies is None:
        raise InputError(f"{node.name} has no memory-side cache whose policies are known", "node")
    settings: list[Settings] = [(), *(_draws(study, options, cases[0]) if options.band else ())]
    one = Effort.mean(effort_of(case.workload, case.node) for case in cases)
    runs = len(INPUTS) * len(settings) * len(TRIED) // RUNS
    options.ask(one, len(cases) * len(study.strategies) * max(1, runs), 1)
    asked = replace(options, agree=None)
    walls = partial(_walls, settings=settings)
    found = for_each(walls, cases, study.strategies, what="scenarios", options=asked)
    gains: Gains = {}
    for each in found:
        gains |= each
    return KeepOrStreamResult(
        about=About.of(study, node),
        rows=[
            Row(scenario=scenario, policy=policy, wall_s=values[0][0], gain=values[0][1])
            for (scenario, policy), values in gains.items()
        ],
        bands=[
            GainBand(scenario=scenario, policy=policy, **spread([gain for _, gain in values]))
            for (scenario, policy), values in gains.items()
        ],
    )


def _cases(study: Study, options: Options) -> list[Case]:
    """The scenarios of the study named as pool, then those of *study*."""
    node = options.node or load_hardware(study.node).node
    of_pool = study_cases(load_study(study.pool), node) if study.pool is not None else []
    return [*of_pool, *study_cases(study, node)]


def _draws(study: Study, options: Options, case: Case) -> list[Settings]:
    band = study.band
    if band is None:
        return []
    provenance = options.provenance
    if options.node is None:
        provenance = load_hardware(study.node).provenance
    known = parameters_of(LoadedNode(node=case.node, provenance=provenance))
    drawn = [each for each in known if each.path.startswith(DRAWN)]
    count = band.draws if options.draws is None else options.draws
    rows = latin_hypercube([each.path for each in drawn], count, band.seed)
    return [settings_at(drawn, row) for row in rows]


def _walls(case: Case, strategies: Sequence[str], settings: Sequence[Settings]) -> Gains:
    """Wall time and gain at each of *settings*, by scenario and policy."""
    found: Gains = {}
    for strategy in strategies:
        for inputs in INPUTS:
            name = f"{case.name} {strategy} {inputs}"
            workload = warm(case.workload) if inputs == "warm" else case.workload
            workload = best_candidate(strategy, workload, case.node).workload
            for each in settings:
                walls = _under_each(case, workload, each)
                for policy, wall in walls.items():
                    gain = 1.0 - wall / walls[NONE]
                    found.setdefault((name, policy), []).append((wall, gain))
    return found


def _under_each(case: Case, workload: Workload, settings: Settings) -> Mapping[str, float]:
    node = case.node
    for path, value in settings:
        node, workload = set_si(node, workload, path, value)
    return {
        policy: run_once(*tried(node, workload), energy=False).end
        for policy, tried in TRIED.items()
    }
