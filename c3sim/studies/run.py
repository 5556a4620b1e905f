"""A study from its file to its result: plain data, ready for JSON and for the tables of ``c3sim.output``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from c3sim.conform import Leaf
from c3sim.errors import InputError
from c3sim.hints import unknown
from c3sim.loading import load_hardware, load_study
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.strategies import STRATEGIES
from c3sim.studies.band import bands
from c3sim.studies.cases import Case, study_cases
from c3sim.studies.characterisation import characterise
from c3sim.studies.rows import Progress, Row, evaluate
from c3sim.studies.summary import auto_summary, by_strategy, scenario_entry, strategy_means
from c3sim.studies.variant_energy import intervals_of, variant_energy
from c3sim.studies.variants import variant_study

__all__ = ["OUTPUTS", "run_study"]

#: Per row; and of the whole study (each needs one GEMM and one collective per scenario).
PER_ROW = ("wall_s", "serial_s", "ideal_speedup", "speedup", "fraction_of_ideal", "own_fraction", "energy_j")
WHOLE = ("c3", "auto", "characterisation", "band", "dma_variants")
OUTPUTS = (*PER_ROW, *WHOLE)


def run_study(
    study: Study,
    *,
    node: Node | None = None,
    provenance: Mapping[str, Leaf] = MappingProxyType({}),
    strategies: Sequence[str] | None = None,
    band: bool = True,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run *study*; *node* and *strategies* replace its own, *band* = False skips the band. Raises InputError.

    *provenance*: what the file says about the numbers of *node*; without it nothing is known of their intervals.

    The result has ``name``, ``node``, ``rows`` (one per case and strategy, with the study's outputs), ``published``,
    and, as far as its outputs ask for them, ``strategies`` and ``scenarios`` (``c3``), ``auto``, ``characterisation``.
    With ``dma_variants``, which stands alone, the rows are those of :mod:`c3sim.studies.variants`, with ``phases``, and
    ``energy`` is that of :mod:`c3sim.studies.variant_energy`.
    """
    names = tuple(strategies or study.strategies)
    _check(study, names)
    cases = study_cases(study, node)
    if "dma_variants" in study.outputs:
        published = study.published if cases[0].node.name == study.node else {}  # of that node only
        found = variant_study(cases, published, progress)
        ends = intervals_of(provenance if node is not None else load_hardware(study.node).provenance)
        return {
            "name": study.name, "node": cases[0].node.name, "description": study.description, "source": study.source,
            **found, "energy": variant_energy(cases, found["rows"], ends, published.get("power", {}), progress), "published": published,
        }  # fmt: skip
    rows = evaluate(cases, names, what="scenarios", n_jobs=n_jobs, progress=progress)
    result: dict[str, Any] = {
        "name": study.name, "node": cases[0].node.name, "description": study.description, "source": study.source,
        "rows": [
            {"scenario": case.name, **case.point, **_shown(row, study.outputs)}
            for case, entries in zip(cases, rows, strict=True)
            for row in entries
        ],
        "published": study.published,
    }  # fmt: skip
    if "c3" in study.outputs:
        result |= _pairs(cases, rows)
        if band and "band" in study.outputs:
            pool = study_cases(load_study(f"{study.name}-pool"), node)
            drawn = bands(cases, pool, names, n_jobs=n_jobs, progress=progress)
            for name, edges in drawn.items():
                result["strategies"][name]["band"] = edges
    if "auto" in study.outputs and "auto" in names:
        result["auto"] = auto_summary(by_strategy(rows)["auto"])
    if "characterisation" in study.outputs:
        result["characterisation"] = characterise(cases, study.published.get("characterisation", {}))
    return result


def _pairs(cases: Sequence[Case], rows: Sequence[Sequence[Row]]) -> dict[str, Any]:
    return {
        "strategies": {name: strategy_means(found) for name, found in by_strategy(rows).items()},
        "scenarios": [scenario_entry(case, entries) for case, entries in zip(cases, rows, strict=True)],
    }


def _shown(row: Row, outputs: Sequence[str]) -> Row:
    return {key: row[key] for key in ("strategy", "chosen", *(name for name in PER_ROW if name in outputs))}


def _check(study: Study, strategies: Sequence[str]) -> None:
    for index, output in enumerate(study.outputs):
        if output not in OUTPUTS:
            raise InputError(unknown("output", output, OUTPUTS), f"outputs[{index}]")
    for index, name in enumerate(strategies):
        if name.partition(":")[0] not in STRATEGIES:
            raise InputError(unknown("strategy", name, STRATEGIES), f"strategies[{index}]")
