"""A study from its file to its result: plain data, ready for JSON and for the tables of
``c3sim.output``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from c3sim.errors import InputError
from c3sim.input.conform import Leaf
from c3sim.input.expressions import parse_expression
from c3sim.input.hints import unknown
from c3sim.input.loading import load_hardware, load_study
from c3sim.input.paths import get_value
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.strategies.table import STRATEGIES
from c3sim.studies.c3.band import bands
from c3sim.studies.c3.characterisation import characterise
from c3sim.studies.c3.summary import auto_summary, by_strategy, scenario_entry, strategy_means
from c3sim.studies.c3_variants.study import c3_variant_study
from c3sim.studies.cases import Case, study_cases
from c3sim.studies.dma_variants.energy import intervals_of, variant_energy
from c3sim.studies.dma_variants.study import variant_study
from c3sim.studies.kv_fetch.cases import serving_cases
from c3sim.studies.kv_fetch.study import kv_study
from c3sim.studies.rows import Progress, Row, evaluate
from c3sim.studies.settings import with_settings
from c3sim.sweeps.outputs import output_names


def run_study(
    study: Study,
    *,
    node: Node | None = None,
    provenance: Mapping[str, Leaf] = MappingProxyType({}),
    strategies: Sequence[str] | None = None,
    settings: Mapping[str, object] | None = None,
    band: bool = True,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run *study*; *node* and *strategies* replace its own, *settings* are values by path
    (settings.py), *band* = False skips the band. Raises InputError.

    *provenance*: what the file says about the numbers of *node*; without it nothing is known of
    their intervals.

    The result has ``name``, ``node``, ``rows`` (one per case and strategy, with the study's
    outputs), ``published``, and, as far as its outputs ask for them, ``strategies`` and
    ``scenarios`` (``c3``), ``auto``, ``characterisation``. With ``dma_variants``, which stands
    alone, the rows are those of :mod:`c3sim.studies.dma_variants.study`, with ``phases``, and ``energy`` is
    that of :mod:`c3sim.studies.dma_variants.energy`; with ``c3_variants``, likewise, those of
    :mod:`c3sim.studies.c3_variants.study`, with ``choosers``.
    """
    study = with_settings(study, settings or {})
    names = tuple(strategies or study.strategies)
    _check(study, names)
    if study.serving is not None:
        return _serving(study, node, progress)
    cases = study_cases(study, node)
    outputs = output_names(study.outputs, study.costs, [case.workload for case in cases])
    if study.kind == "dma_variants":
        known = provenance if node is not None else load_hardware(study.node).provenance
        return _dma_variants(study, cases, known, progress)
    if study.kind == "c3_variants":
        found = c3_variant_study(cases, names, n_jobs, progress)
        return {**_about(study, cases[0].node), **found, "published": study.published}
    rows = evaluate(cases, names, what="scenarios", n_jobs=n_jobs, progress=progress)
    result: dict[str, Any] = {
        **_about(study, cases[0].node),
        "rows": [
            {"scenario": case.name, **case.point, **_shown(study, case, row, outputs)}
            for case, entries in zip(cases, rows, strict=True)
            for row in entries
        ],
        "published": study.published,
    }
    if study.kind == "c3":
        result |= _pairs(cases, rows)
        if band and study.pool is not None:
            pool = study_cases(with_settings(load_study(study.pool), settings or {}), node)
            drawn = bands(cases, pool, names, n_jobs=n_jobs, progress=progress)
            for name, edges in drawn.items():
                result["strategies"][name]["band"] = edges
    if study.kind == "c3" and "auto" in names:
        result["auto"] = auto_summary(by_strategy(rows)["auto"])
    if study.characterisation:
        result["characterisation"] = characterise(
            cases, study.published.get("characterisation", {})
        )
    return result


def _about(study: Study, node: Node) -> dict[str, Any]:
    """What every result begins with."""
    return {
        "name": study.name,
        "node": node.name,
        "description": study.description,
        "source": study.source,
    }


def _published(study: Study, node: Node) -> Mapping[str, Any]:
    """The published figures, which are of the study's own node only."""
    return study.published if node.name == study.node else {}


def _dma_variants(
    study: Study, cases: Sequence[Case], provenance: Mapping[str, Leaf], progress: Progress | None
) -> dict[str, Any]:
    """Output ``dma_variants``: the rows of :mod:`c3sim.studies.dma_variants.study`, and what they take in
    energy.
    """
    published = _published(study, cases[0].node)
    found = variant_study(cases, published, progress)
    ends, power = intervals_of(provenance), published.get("power", {})
    energy = variant_energy(cases, found["rows"], ends, power, progress)
    return {**_about(study, cases[0].node), **found, "energy": energy, "published": published}


def _serving(study: Study, node: Node | None, progress: Progress | None) -> dict[str, Any]:
    """A study of serving, output ``kv_fetch``: the rows of :mod:`c3sim.studies.kv_fetch.study`, with
    ``copies`` and ``claims``.
    """
    cases = serving_cases(study, node)
    published = _published(study, cases[0].node)
    found = kv_study(cases, published, progress)
    return {**_about(study, cases[0].node), **found, "published": published}


def _pairs(cases: Sequence[Case], rows: Sequence[Sequence[Row]]) -> dict[str, Any]:
    return {
        "strategies": {name: strategy_means(found) for name, found in by_strategy(rows).items()},
        "scenarios": [
            scenario_entry(case, entries) for case, entries in zip(cases, rows, strict=True)
        ],
    }


def _shown(study: Study, case: Case, row: Row, outputs: Sequence[str]) -> Row:
    """The strategy, and the *outputs* of single rows: a task that the case has not, has none."""

    def cost(text: str) -> float:
        words = {"scenario": row["scenario"], "strategy": row["strategy"]}
        return parse_expression(text).number(
            lambda name: words[name] if name in words else get_value(case.node, case.workload, name)
        )

    values = {
        name: cost(study.costs[name]) if name in study.costs else row.get(name) for name in outputs
    }
    return {"strategy": row["strategy"], "chosen": row["chosen"], **values}


def _check(study: Study, strategies: Sequence[str]) -> None:
    for index, name in enumerate(strategies):
        if name.partition(":")[0] not in STRATEGIES:
            raise InputError(unknown("strategy", name, STRATEGIES), f"strategies[{index}]")
