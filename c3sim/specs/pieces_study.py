"""What a study of work in pieces goes through: the ``pieces`` part of a study."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from c3sim.specs.base import Spec, Synonyms
from c3sim.specs.quantities import Extent, Parts


class Shape(Spec):
    """Of a GEMM over all GPUs; *n* is divided by them."""

    m: Extent
    n: Extent
    k: Extent


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
