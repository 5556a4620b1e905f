"""A hand-made result of kind c3, and what was found in made-up runs: numbers that are easy to
recognise.
"""

from __future__ import annotations

from typing import Any

from c3sim.experiments.study import Row, StudyResult

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


def made_row(*, ideal_speedup: float = 1.0, loss: float = 0.0, **fields: Any) -> Row:
    """A strategy's part of a row: its outcome has *fields*; the others say nothing."""
    nothing = {"wall_s": 1.0, "speedup": 1.0, "fraction_of_ideal": None, "own_fraction": None}
    outcome = Row({**nothing, "chosen": "base", **fields})
    return Row(outcome=outcome, ideal_speedup=ideal_speedup, loss=loss)


def made_study() -> StudyResult:
    """Ten scenarios of all classes; the fraction of each strategy is its mean plus or minus a
    spread.
    """
    return StudyResult(
        name="c3",
        node="mi300x-8",
        rows=[],
        published=PUBLISHED,
        strategies={
            name: Row(
                mean_fraction_of_ideal=mean,
                ratio_of_means=mean + 0.01,
                mean_own_fraction=mean + 0.02,
                mean_speedup=1 + 0.6 * mean,
                max_speedup=1 + 0.6 * (mean + 0.135),
                band=[mean - 0.05, mean + 0.06],
            )
            for name, mean in MEANS.items()
        },
        scenarios=[_scenario(index) for index in range(10)],
    )


def _scenario(index: int) -> Row:
    shares = {name: mean + 0.03 * (index - 4.5) for name, mean in MEANS.items()}
    return Row(
        {"name": f"pair{index}", "label": "", "class": ("G-long", "C-long", "GC-equal")[index % 3]},
        collective=("all_gather", "all_to_all")[index % 2],
        bytes=896 * 2**20,
        gemm={"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16"},
        gemm_isolated_s=6 * MS,
        comm_isolated_s=3 * MS,
        ideal_speedup=1.5,
        strategies={
            name: Row(
                wall_s=9 * MS / (1 + 0.6 * share),
                speedup=1 + 0.6 * share,
                fraction_of_ideal=share,
                own_fraction=share,
                chosen=name,
            )
            for name, share in shares.items()
        },
    )
