"""The device mesh of a job: how many GPUs each dimension has, and which are a group.

As torch.distributed.init_device_mesh has it: with sizes (a, b, c) the GPUs of a group on the last
dimension are neighbours, on the one before c apart, on the first b c. Dimensions that exchange
together are flattened, which needs them side by side:

    tensor                tp
    context               cp
    data                  what gradients are added up over: dp_shard and cp, in shards (FSDP); or
                          dp_replicate, dp_shard and cp (DDP)
    replicate             dp_replicate, beside shards (HSDP)
    expert                ep neighbours of dp_shard, cp and tp, each etp GPUs apart
    replicas of experts   the others of these, which have the same experts

Entries by kind (ddp, fsdp, tensor, expert, pipeline) are the same dimensions in the order of the
list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from c3sim.errors import InputError
from c3sim.models import groups as places
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Ddp, Fsdp, Iteration
from c3sim.spec.layout import Layout

DATA = ("ddp", "fsdp")
#: Kind of an entry -> its dimension.
OF_KIND = {"tensor": "tp", "pipeline": "pp", "ddp": "dp_replicate", "fsdp": "dp_shard"}


class Group(NamedTuple):
    """GPUs of a group, and how far apart: fields of a collective."""

    group: int
    stride: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Mesh:
    """*sizes* of dimensions, the outermost first. *fsdp*, *ddp*: how replicas exchange, if they do.
    *words*: what a file calls a dimension, where that is another name.
    """

    ranks: int
    sizes: Mapping[str, int]
    ep: int = 1
    etp: int = 1
    fsdp: Fsdp | None = None
    ddp: Ddp | None = None
    words: Mapping[str, str]

    def size(self, name: str) -> int:
        return self.sizes.get(name, 1)

    @property
    def replicas(self) -> int:
        """Data parallel: each has a batch of its own."""
        return self.size("dp_replicate") * self.size("dp_shard")

    @property
    def shards(self) -> int:
        """GPUs that have a part each of what one would hold."""
        return self.size("dp_shard") * self.size("cp") if self.fsdp else 1

    @property
    def copies(self) -> int:
        """GPUs that exchange weights or gradients of the same experts."""
        return self._experts()[2].group

    def stride(self, name: str) -> int:
        """From a GPU to its neighbour on the dimension *name*."""
        order = list(self.sizes)
        return prod(self.sizes[each] for each in order[order.index(name) + 1 :])

    @property
    def groups(self) -> dict[str, Group]:
        """Groups of GPUs that exchange, but for those of all GPUs."""
        experts = self._experts()
        every = {
            "tensor": self._flat("tp"),
            "data": self._flat(*self._shared()),
            "replicate": self._flat("dp_replicate") if self.fsdp else Group(1, 1),
            "context": self._flat("cp"),
            "expert": experts[1],
            "replicas of experts": experts[2],
        }
        return {name: group for name, group in every.items() if 1 < group.group < self.ranks}

    def dimensions_of(self, stream: str) -> str:
        """Dimensions of the group of GPUs that a *stream* is of, in the words of the file; that of
        all GPUs has no name. Experts that are dealt to the same GPUs are named beside them.
        """
        words: dict[str, tuple[str, ...]] = {"tensor": ("tp",), "context": ("cp",)}
        words |= {"replicate": ("dp_replicate",)}
        words |= {"expert": ("ep",), "replicas-of-experts": ("experts' replicas",)}
        words |= {"pipeline": ("pp",), "data": self._shared(), "": tuple(self.sizes)}
        named = words.get(stream, (stream,))
        several = [name for name in named if self.sizes.get(name, 2) > 1] or named[:1]
        dealt = self._experts()[1]
        same = self.ep > 1 and stream != "expert" and dealt == self.groups.get(stream, self._all)
        dimensions = " x ".join(self.words.get(name, name) for name in several)
        return f"{dimensions} and {self.words.get('ep', 'ep')}" if same else dimensions

    @property
    def _all(self) -> Group:
        return Group(self.ranks, 1)

    def _shared(self) -> tuple[str, ...]:
        """Dimensions over which weights or gradients are shared."""
        return ("dp_shard", "cp") if self.fsdp else ("dp_replicate", "dp_shard", "cp")

    def _experts(self) -> tuple[Group, Group, Group]:
        """Groups of GPUs that share an expert, have the others, have the same."""
        if self.ep == 1 and self.etp == self.size("tp"):
            return self._flat("tp"), Group(1, 1), self._flat(*self._shared())
        whole = self.etp == self.size("tp")
        size, stride = self._flat(*self._shared(), *(() if whole else ("tp",)))
        share = 1 if whole else self.etp
        return (
            Group(self.etp, self.stride("tp")),
            Group(self.ep, stride * share),
            Group(size // (self.ep * share), stride * share * self.ep),
        )

    def _flat(self, *names: str) -> Group:
        """GPUs of several dimensions as one group. Raises InputError where they are apart."""
        order = [name for name, size in self.sizes.items() if size > 1]
        at = sorted(order.index(name) for name in names if name in order)
        if not at:
            return Group(1, 1)
        if at[-1] - at[0] >= len(at):
            apart = " and ".join(order[number] for number in at)
            between = order[next(n for n in range(at[0], at[-1]) if n not in at)]
            raise InputError(
                f"{apart} exchange as one group; {between} must not stand between them",
                "parallel.order",
            )
        size = prod(self.sizes[order[number]] for number in at)
        return Group(size, prod(self.sizes[each] for each in order[at[-1] + 1 :]))


def mesh_of(iteration: Iteration, node: Node) -> Mesh:
    """The mesh of *iteration* on all GPUs of *node*. Raises InputError in the words of its file."""
    layout, ranks = iteration.parallel, node.ranks
    if isinstance(layout, Layout):
        mesh = _of_layout(layout, ranks, training=iteration.phase == "training")
    else:
        mesh = _of_kinds({entry.kind: entry for entry in iteration.nested}, ranks)
    for name, group in mesh.groups.items():
        _check_place(mesh, name, group, node)
    return mesh


def _check_place(mesh: Mesh, name: str, group: Group, node: Node) -> None:
    """Groups have as many GPUs in each of their nodes, and links of their own there."""
    words = {"tensor": "tp", "context": "cp", "expert": "ep", "replicate": "dp_replicate"}
    dimension = words.get(name, " x ".join(n for n in mesh._shared() if mesh.size(n) > 1))
    dimension = mesh.words.get(dimension, dimension)
    if not places.divides(node, places.Group(*group)):
        raise InputError(
            f"{dimension}: groups of {group.group} GPUs, {group.stride} apart, do not have as many"
            f" in each of their nodes of {node.gpus}; take sizes that divide {node.gpus} or are its"
            " multiples",
            "parallel",
        )
    inside = places.span_of(node, places.Group(*group)).inside.size
    if node.links.topology == "ring" and 1 < inside < node.gpus:
        raise InputError(f"{node.name} is a ring; {dimension} must be of all its GPUs", "parallel")


def _of_layout(layout: Layout, ranks: int, *, training: bool) -> Mesh:
    sizes, sharded = _sizes_of(layout, ranks, training=training)
    etp = _etp(layout)
    around = sizes["dp_shard"] * layout.cp * (layout.tp if etp < layout.tp else 1)
    around *= 1 if sharded else sizes["dp_replicate"]
    if around % layout.ep:
        names = "dp_shard x cp" + (" x tp" if etp < layout.tp else "")
        raise InputError(f"got {layout.ep}, which does not divide {names}, {around}", "parallel.ep")
    shards = sharded and sizes["dp_shard"] * layout.cp > 1
    reshard = layout.pp == 1 if layout.reshard is None else layout.reshard
    how = {"prefetch": layout.prefetch, "forward_prefetch": layout.forward_prefetch}
    how |= {"reshard": reshard, "pieces": layout.pieces}
    buckets = training and not shards and sizes["dp_replicate"] * layout.cp > 1
    return Mesh(
        ranks=ranks,
        sizes=sizes,
        ep=layout.ep,
        etp=etp,
        fsdp=Fsdp.model_validate({"kind": "fsdp", **how}) if shards else None,
        ddp=Ddp(kind="ddp", bucket=layout.bucket, views=layout.views) if buckets else None,
        words={},
    )


def _sizes_of(layout: Layout, ranks: int, *, training: bool) -> tuple[dict[str, int], bool]:
    """GPUs of each dimension, the outermost first, and whether weights are in shards."""
    replicate, shard = layout.dp_replicate, layout.dp_shard
    sharded = training if shard is None else shard != 1
    if shard is None and not sharded:
        shard = 1
    shard = None if shard == -1 else shard
    given = {"pp": layout.pp, "dp_replicate": replicate, "dp_shard": shard}
    given |= {"cp": layout.cp, "tp": layout.tp}
    said = {name: size for name, size in given.items() if size not in (None, 1)}
    known = prod(size for size in given.values() if size is not None)
    rest = next((name for name in ("dp_shard", "dp_replicate") if given[name] is None), None)
    if ranks % known or (rest is None and known != ranks):
        names = " x ".join(f"{name} {size}" for name, size in said.items()) or "1 GPU"
        verb = "does" if len(said) < 2 else "do"
        message = f"{names} {verb} not divide {ranks} GPUs; {rest} is what is left"
        if rest is None:
            message = f"{names} = {known} GPUs of {ranks}; leave dp_shard out: it is what is left"
        raise InputError(message, "parallel")
    order = layout.dimensions
    if len(set(order)) < len(order):
        raise InputError("a dimension stands twice", "parallel.order")
    sizes = {name: size or 1 for name, size in given.items()}
    if rest is not None:
        sizes[rest] = ranks // known
    return {name: sizes[name] for name in order}, sharded


def _etp(layout: Layout) -> int:
    """GPUs that share an expert."""
    split = layout.ep > 1 and layout.sequence
    etp = layout.etp if layout.etp is not None else (1 if split else layout.tp)
    if etp not in (1, layout.tp):
        raise InputError(f"got {etp}; must be 1 or tp, {layout.tp}", "parallel.etp")
    if etp < layout.tp and not layout.sequence:
        raise InputError("experts of one GPU each need sequence: true with tp", "parallel.etp")
    return etp


def _of_kinds(kinds: Mapping[str, Any], ranks: int) -> Mesh:
    """Mesh of entries by kind, in the order of nesting."""
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
    data = "dp_shard" if "fsdp" in kinds else "dp_replicate"
    axes = {_axis(name, data): sizes.get(name, replicas) for name in kinds}
    axes = {data: replicas, **axes} if data not in axes else axes
    ddp = kinds.get("ddp") or (Ddp(kind="ddp") if expert > 1 else None)
    return Mesh(
        ranks=ranks,
        sizes={**{name: 1 for name in ("pp", "tp") if name not in axes}, **axes},
        ep=expert,
        etp=tensor,
        fsdp=kinds.get("fsdp"),
        ddp=None if "fsdp" in kinds else ddp,
        words={"tp": "tensor", "ep": "expert", "pp": "pipeline", data: "data"},
    )


def _axis(kind: str, data: str) -> str:
    return OF_KIND[kind] if kind in ("tensor", "pipeline") else data


def _sizes(kinds: Mapping[str, Any], ranks: int) -> dict[str, int]:
    """GPUs of tensor groups and stages of pipelines: as given, or what the other one leaves."""
    split = {name: kinds[name].size for name in ("tensor", "pipeline") if name in kinds}
    unknown = [name for name, size in split.items() if size is None]
    if len(unknown) > 1 or (unknown and kinds.keys() & {*DATA, "expert"}):
        raise InputError(f"{' and '.join(unknown)} nest; say the size of each", "parallel")
    rest = ranks // prod(size for size in split.values() if size is not None)
    return {name: max(1, rest) if size is None else size for name, size in split.items()}
