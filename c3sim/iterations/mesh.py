"""Kinds of parallelism as axes of a device mesh: how many GPUs each has, and which are a group.

As torch.distributed.init_device_mesh has it, and Megatron: in a mesh of sizes (a, b, c) the GPUs of
a group on the last axis are neighbours, on the one before c apart, on the first b c. Expert
parallelism has no axis: it deals experts to neighbours on the data-parallel axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from c3sim.errors import InputError

DATA = ("ddp", "fsdp")


class Group(NamedTuple):
    """GPUs of a group, and how far apart: fields of a collective."""

    group: int
    stride: int


class Mesh(NamedTuple):
    """GPUs of each kind of group; *replicas* are data parallel. *strides*: of tensor,
    pipeline, data.
    """

    ranks: int
    tensor: int
    stages: int
    replicas: int
    expert: int
    strides: Mapping[str, int]

    @property
    def groups(self) -> dict[str, Group]:
        """Who exchanges with whom, but for groups of all GPUs."""
        data, expert = self.strides["data"], self.expert
        every = {
            "tensor": Group(self.tensor, self.strides["tensor"]),
            "data": Group(self.replicas, data),
            "expert": Group(expert, data),
            "replicas of experts": Group(self.replicas // expert, data * expert),
        }
        return {name: group for name, group in every.items() if group.group < self.ranks}


def mesh_of(kinds: Mapping[str, Any], ranks: int) -> Mesh:
    """The mesh of *kinds*, in the order of nesting, on *ranks* GPUs. Raises InputError."""
    sizes = _sizes(kinds, ranks)
    tensor, stages = sizes.get("tensor", 1), sizes.get("pipeline", 1)
    if ranks % (tensor * stages):
        names = " x ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(f"{names} do not divide {ranks} GPUs", "parallel")
    replicas = ranks // (tensor * stages)
    if replicas == 1 and ranks > 1 and (kinds.keys() & {*DATA, "expert"}):
        name = next(iter(kinds.keys() & {*DATA, "expert"}))
        raise InputError(f"no GPUs are left for {name}; give the others a smaller size", "parallel")
    expert = kinds["expert"].size or replicas if "expert" in kinds else 1
    if replicas % expert:
        message = f"experts over {expert} GPUs do not divide {replicas} data-parallel ones"
        raise InputError(message, "parallel")
    if expert < replicas and "expert" in kinds and "fsdp" in kinds:
        message = "experts over a part of the data-parallel GPUs nest with ddp, not with fsdp"
        raise InputError(message, "parallel")
    axes = {_axis(name): sizes.get(name, replicas) for name in kinds}
    axes = {"data": replicas, **axes} if "data" not in axes else axes
    order, lengths = list(axes), list(axes.values())
    strides = {name: prod(lengths[number + 1 :]) for number, name in enumerate(order)}
    return Mesh(ranks, tensor, stages, replicas, expert, {"tensor": 1, "pipeline": 1, **strides})


def _axis(kind: str) -> str:
    return kind if kind in ("tensor", "pipeline") else "data"


def _sizes(kinds: Mapping[str, Any], ranks: int) -> dict[str, int]:
    """GPUs of tensor groups and stages of pipelines: as given, or what the other one leaves."""
    split = {name: kinds[name].size for name in ("tensor", "pipeline") if name in kinds}
    unknown = [name for name, size in split.items() if size is None]
    if len(unknown) > 1 or (unknown and kinds.keys() & {*DATA, "expert"}):
        raise InputError(f"{' and '.join(unknown)} nest; say the size of each", "parallel")
    rest = ranks // prod(size for size in split.values() if size is not None)
    return {name: max(1, rest) if size is None else size for name, size in split.items()}
