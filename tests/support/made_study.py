"""A hand-made result of kind c3, and rows of made-up runs: numbers that are easy to recognise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from c3sim.result import Result
from c3sim.studies.c3.study import C3Result
from c3sim.studies.c3.summary import Means, Outcome, Scenario
from c3sim.studies.cases import GemmShape
from c3sim.studies.kind import About
from c3sim.studies.rows import Row

MS = 1e-3
MEANS = {
    "base": 0.2,
    "sp": 0.4,
    "rp": 0.38,
    "sp_rp": 0.43,
    "conccl": 0.65,
    "conccl_rp": 0.7,
    "auto": 0.72,
}
PUBLISHED = {
    "mean_fraction_of_ideal": {
        "base": 0.21,
        "sp": 0.42,
        "rp": 0.41,
        "conccl": 0.66,
        "conccl_rp": 0.72,
    },
    "source": "arXiv 2412.14335",
}


def made_row(strategy: str = "base", *, loss: float = 0.0, chosen: str = "", **fields: Any) -> Row:
    """A row whose result has *fields*; the others say nothing."""
    plain = Result(
        workload="made",
        node="made",
        strategy=strategy,
        tasks={},
        folded=True,
        events=0,
        wall_s=1.0,
        serial_s=1.0,
        ideal_speedup=1.0,
        speedup=1.0,
        fraction_of_ideal=None,
        own_fraction=None,
        energy_j=0.0,
    )
    result = replace(plain, **fields)
    return Row(strategy=strategy, chosen=chosen or strategy, result=result, loss=loss)


def made_study() -> C3Result:
    """Ten scenarios of all classes; the fraction of each strategy is its mean plus or minus a
    spread.
    """
    return C3Result(
        about=About(name="c3", node="mi300x-8", description="", source=""),
        rows=(),
        published=PUBLISHED,
        strategies={
            name: Means(
                mean_fraction_of_ideal=mean,
                ratio_of_means=mean + 0.01,
                mean_own_fraction=mean + 0.02,
                mean_speedup=1 + 0.6 * mean,
                max_speedup=1 + 0.6 * (mean + 0.135),
                band=(mean - 0.05, mean + 0.06),
            )
            for name, mean in MEANS.items()
        },
        scenarios=[_scenario(index) for index in range(10)],
    )


def _scenario(index: int) -> Scenario:
    shares = {name: mean + 0.03 * (index - 4.5) for name, mean in MEANS.items()}
    return Scenario(
        name=f"pair{index}",
        label="",
        length_class=("G-long", "C-long", "GC-equal")[index % 3],
        collective=("all_gather", "all_to_all")[index % 2],
        size_bytes=896 * 2**20,
        gemm=GemmShape(m=8192, n=8192, k=8192, dtype="bf16"),
        gemm_isolated_s=6 * MS,
        comm_isolated_s=3 * MS,
        ideal_speedup=1.5,
        strategies={
            name: Outcome(
                wall_s=9 * MS / (1 + 0.6 * share),
                speedup=1 + 0.6 * share,
                fraction_of_ideal=share,
                own_fraction=share,
                chosen=name,
            )
            for name, share in shares.items()
        },
    )
