"""A study of kind ``operator_shares``: shares of the operator classes in the time in which kernels
run.

A class of operators has the time in which it runs, communication that in which nothing else does,
so the shares of an iteration add up to 1. Time in which nothing runs is beside them (*idle_s*).
Where the host's launches take longest, shares are those of the same iteration as a graph: kernels
that wait for the host would let communication run by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.iterations.result import IterationResult
from c3sim.specs.study import Study
from c3sim.studies.iterations import IterationCase, about, effort, iteration_cases, nodes_of
from c3sim.studies.kind import Options, StudyResult
from c3sim.studies.operator_shares.claims import Claim, claims
from c3sim.studies.operator_shares.row import Row
from c3sim.studies.parallel import spread

WORTH_IT = 4  # cases of about a second from which other processes pay


@dataclass(frozen=True, kw_only=True, slots=True)
class SharesResult(StudyResult):
    """*rows*: one per configuration and node. *claims*: published figures beside those here."""

    rows: Sequence[Row]
    claims: Sequence[Claim]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> SharesResult:
    """All configurations of *study* on all its nodes. Raises InputError."""
    nodes = nodes_of(study, options)
    cases = iteration_cases(study, nodes)
    options.ask(effort(cases[0]), len(cases))
    rows = spread(_row, cases, worth=WORTH_IT, what="iterations", options=options)
    return SharesResult(
        about=about(study, nodes),
        rows=rows,
        claims=claims(rows, study.published.get("claims", ())),
        published=study.published,
    )


def _row(case: IterationCase) -> Row:
    whole = result = case.run()
    if whole.host_bound:
        result = case.with_fields(launch="graph").run()
    seconds = {name: each.busy_s for name, each in result.classes.items()}
    seconds["communication"] = result.classes["communication"].exposed_s
    kernels = sum(seconds.values())
    shares = {name: time / kernels for name, time in seconds.items()}
    return Row(
        configuration=case.name,
        node=case.node.name,
        gpus=case.node.ranks,
        iteration_s=whole.wall_s,
        kernels_s=kernels,
        idle_s=max(0.0, whole.wall_s - kernels),
        shares=shares,
        attention_gemm_share=shares["attention"] * _gemms_of_attention(result),
        host_bound=whole.host_bound,
        memory_bytes=result.memory_bytes,
        fits=result.fits,
    )


def _gemms_of_attention(result: IterationResult) -> float:
    """Part of attention's time that its batched GEMMs take, of the layers that were simulated."""
    of_attention = [
        task for task in result.tasks.values() if task.detail["operator"] == "attention"
    ]
    whole = sum(task.end_s - task.start_s for task in of_attention)
    gemms = sum(task.end_s - task.start_s for task in of_attention if task.kind == "gemm")
    return gemms / whole if whole else 0.0
