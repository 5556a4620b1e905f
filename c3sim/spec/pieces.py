"""The scenarios of a study of kind ``pieces``, and measured times of such pairs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from c3sim.spec.base import Spec, Synonyms
from c3sim.spec.published import Ratio
from c3sim.spec.quantities import Extent, Parts
from c3sim.spec.workload import Schedule


class Shape(Spec):
    """Shape of a GEMM over all GPUs; *n* is divided by them."""

    m: Extent
    n: Extent
    k: Extent


class MeasuredPieces(Spec):
    """Measured times of GEMMs behind an all-gather of their operand, on which choosers of a
    schedule are scored; never inputs.
    """

    node: str
    source: str
    turns: Parts
    """of a loop, behind a barrier; a time is that of the median turn"""
    gemms: dict[str, Shape] = Field(min_length=2)
    """n: of one GPU"""
    schedules: dict[str, Schedule | None] = Field(min_length=2)
    """null: one after the other"""
    columns: tuple[str, ...]
    times_us: dict[str, dict[str, tuple[Ratio, ...]]]
    """by backend and GEMM, a time for each of the columns"""

    @model_validator(mode="after")
    def _complete(self) -> MeasuredPieces:
        if sorted(self.columns) != sorted(self.schedules):
            raise ValueError("columns have to be the names of schedules, each once")
        for backend, by_gemm in self.times_us.items():
            if by_gemm.keys() != self.gemms.keys():
                raise ValueError(f"times_us.{backend} needs a row for each of gemms")
            for gemm, row in by_gemm.items():
                if len(row) != len(self.columns):
                    message = f"{len(row)} times for {len(self.columns)} columns"
                    raise ValueError(f"times_us.{backend}.{gemm} has {message}")
        return self


class PiecesStudy(Spec):
    """Every GEMM on every node, behind or in front of every collective, in pieces."""

    gemms: dict[str, Shape] = Field(min_length=1)
    nodes: tuple[str, ...] = Field(("mi300x-8",), min_length=1)
    collectives: tuple[Literal["all_gather", "all_to_all", "reduce_scatter"], ...] = Field(
        ("all_gather",), min_length=1
    )
    """all_gather and all_to_all bring the operand, reduce_scatter takes the result"""
    by: tuple[Annotated[Literal["dma", "kernels"], Synonyms()], ...] = Field(
        ("dma", "kernels"), min_length=1
    )
    """what moves the bytes: engines, or the first library of the node"""
    pieces: tuple[Parts, ...] = Field((1, 2, 4, 8, 16, 32, 64), min_length=1)
    """numbers of pieces to try, from the first on"""
    give_up: float = Field(1.1, ge=1)
    """times the best time so far, from which more pieces are not tried"""
    measured: MeasuredPieces | None = None
