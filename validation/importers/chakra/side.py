"""What a Chakra trace lacks, from a file beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import Field

from c3sim.errors import InputError
from c3sim.input.loading import load_file
from c3sim.specs.base import Spec
from c3sim.specs.kernel import Operator
from c3sim.specs.quantities import Count, Extent, Time
from c3sim.specs.task import Dtype


class NodeSide(Spec):
    """Of the nodes whose name has *name* (a regular expression); the first that fits counts."""

    name: str
    time: Time | None = None
    """alone"""
    gemm: tuple[Extent, Extent, Extent] | None = None
    """M, N, K"""
    dtype: Dtype = "bf16"
    """of the GEMM, or of a collective"""
    operator: Operator | None = None
    """class in a model"""
    stream: str | None = None


class Side(Spec):
    """Of a whole trace."""

    schema_version: Literal[1] = Field(1, alias="schema")
    kind: Literal["chakra"] = "chakra"
    durations: Literal["alone", "beside_others"] = "beside_others"
    """alone: each node's duration is that of a run in which nothing ran beside it; beside_others:
    those count that, by their start times, nothing ran beside"""
    sizes: Literal["input", "buffer"] = "input"
    """what comm_size is: bytes that go in on a GPU, as PyTorch's converter writes, or the full
    buffer"""
    groups: dict[str, Count] = Field({})
    """process group -> its GPUs; left out: all of the node"""
    nodes: tuple[NodeSide, ...] = ()

    def of(self, name: str) -> NodeSide:
        """What is said of the node *name*."""
        return next((each for each in self.nodes if re.search(each.name, name)), _NOTHING)


_NOTHING = NodeSide(name="")


def read_side(path: Path | None) -> Side:
    """Raises InputError or InputErrors: a mistake in it."""
    if path is None:
        return Side()
    side = load_file(path, Side)
    for each in side.nodes:
        try:
            re.compile(each.name)
        except re.error as error:
            message = f"{each.name!r} is no regular expression ({error})"
            raise InputError(message, "nodes", str(path)) from None
    return side
