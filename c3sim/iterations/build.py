"""A description of an iteration as a workload: streams, dependencies, launches.

Operators run on the stream ``compute``, copies into buffers of collectives on ``copies``. Every
process group has a communicator and a stream of its own, on which its collectives follow each
other: ``communication`` is that of all GPUs, ``communication-tensor`` that of tensor groups, and so
on (torch.distributed: an internal stream of each ProcessGroupNCCL). Names for the same GPUs are one
group. Tasks are declared in the order of their launches.

A pipeline of equal stages, one on each GPU or tensor group.

One micro batch through one stage is simulated, with the copy that hands its output to the next GPU;
all stages do so at once, as in the middle of the pipeline; embedding, head and loss are in it, as
the first and the last stage have them. With m micro batches and p stages, the
iteration takes (m + p - 1) times as long: fill and drain of GPipe (arXiv 1811.06965, section 2.3)
and of one forward, one backward (arXiv 2104.04473) alike. The optimizer runs once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from c3sim.errors import InputError
from c3sim.iterations.builder import Builder
from c3sim.iterations.dlrm import dlrm_units
from c3sim.iterations.halves import join
from c3sim.iterations.layers import Share
from c3sim.iterations.mesh import Mesh, mesh_of
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.optimizers import optimizer_ops
from c3sim.iterations.parallel import Buckets, Replicas, Shards
from c3sim.iterations.steps import Op
from c3sim.iterations.units import Unit, Units, transformer_units
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Ddp, Fsdp, Iteration
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.task import Operator
from c3sim.spec.words import unknown
from c3sim.spec.workload import Copy, HostThreads, Loop, Workload


def hand_on(builder: Builder, operators: OperatorSet, planned: Plan, direction: str) -> None:
    """Copy a micro batch's output, or its gradient, to the neighbour."""
    model = planned.model
    rows = planned.batch * planned.iteration.length
    size = float(rows * getattr(model, "hidden", 1) * operators.element)
    stride = planned.mesh.strides["pipeline"]
    peer = stride if direction == "forward" else planned.node.gpus - stride
    task = Copy(kind="copy", bytes=size, peer=peer, executor="kernel", gpus="all")
    builder.transfer(f"{direction}-hand-on", task)


Model = Transformer | Dlrm
#: An iteration is one of many: the power limit has averaged over those before it.
TURNS = 1000
#: Without a profiler, where a node has that.
DEFAULT_PROFILES = ("framework_alone", "framework")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A description resolved on a node: kinds of parallelism and their degrees."""

    iteration: Iteration
    model: Model
    node: Node
    operators: OperatorSet
    mesh: Mesh
    micro_batches: int = 1

    @property
    def tensor(self) -> int:
        """GPUs that share a layer."""
        return self.mesh.tensor

    @property
    def expert(self) -> int:
        """GPUs that experts are dealt to."""
        return self.mesh.expert

    @property
    def stages(self) -> int:
        return self.mesh.stages

    @property
    def replicas(self) -> int:
        """Data parallel."""
        return self.mesh.replicas

    @property
    def kinds(self) -> dict[str, Any]:
        return {entry.kind: entry for entry in self.iteration.nested}

    @property
    def layers(self) -> int:
        """Layers of the model that run, on all GPUs."""
        if isinstance(self.model, Dlrm):
            return 0
        return self.model.layers if self.iteration.layers is None else self.iteration.layers

    @property
    def own_layers(self) -> int:
        """The layers of one GPU."""
        return -(-self.layers // self.stages)

    @property
    def batch(self) -> int:
        """Sequences that go through a GPU at a time."""
        return self.iteration.batch // self.micro_batches // self.iteration.halves

    def units(self) -> Units:
        """The model's parts on one GPU."""
        if isinstance(self.model, Dlrm):
            return dlrm_units(
                self.operators,
                self.model,
                self.batch,
                self.replicas,
                training=self.iteration.phase == "training",
            )
        split = self.kinds.get("tensor")
        share = Share(
            sequences=self.batch,
            tokens=self.iteration.length,
            context=self.iteration.context,
            tensor=self.tensor,
            split=split is not None and split.sequence,
            expert=self.expert,
            training=self.iteration.phase == "training",
        )
        return transformer_units(
            self.operators,
            self.model,
            share,
            self.own_layers,
            head=self.iteration.has_head,
            generates=self.iteration.phase in ("prefill", "decode"),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """A workload, the operator class of each task, and the host's seconds for all launches."""

    workload: Workload
    classes: Mapping[str, Operator]
    host: float


def plan(iteration: Iteration, model: Model, node: Node) -> Plan:
    """Degrees of parallelism. Raises InputError for what cannot be split so, or is not modelled."""
    kinds: dict[str, Any] = {entry.kind: entry for entry in iteration.nested}
    ranks = node.ranks
    _check_nesting(kinds, iteration, ranks)
    if iteration.profile is not None and iteration.profile not in node.host_profiles:
        raise InputError(unknown("host profile", iteration.profile, node.host_profiles), "profile")
    if iteration.fused_qkv is not None and isinstance(model, Transformer):
        model = model.model_copy(update={"fused_qkv": iteration.fused_qkv})
    mesh = mesh_of(kinds, ranks)
    batches = kinds["pipeline"].micro_batches if "pipeline" in kinds else 1
    _check_division(iteration, model, mesh, batches)
    return Plan(
        iteration=iteration,
        model=model,
        node=node,
        operators=OperatorSet.on(
            node.gpu,
            iteration.precision,
            fused=iteration.fused,
            eager=iteration.attention == "eager",
            rms=isinstance(model, Transformer) and model.gated,
        ),
        mesh=mesh,
        micro_batches=batches,
    )


def _check_nesting(kinds: Mapping[str, Any], iteration: Iteration, ranks: int) -> None:
    if len(kinds) < len(iteration.nested):
        raise InputError("a kind of parallelism is named twice", "parallel")
    if kinds and ranks < 2:
        raise InputError(f"{next(iter(kinds))} on one GPU; needs a node of at least 2", "parallel")
    if {"ddp", "fsdp"} <= kinds.keys():
        raise InputError("data parallel is ddp or fsdp, not both", "parallel")
    if "pipeline" in kinds and kinds.keys() & {"ddp", "fsdp", "expert"}:
        message = "what data-parallel pipelines exchange once for all micro batches is not modelled"
        raise InputError(f"{message}; a pipeline nests with tensor", "parallel")


def _check_division(iteration: Iteration, model: Model, mesh: Mesh, batches: int) -> None:
    if isinstance(model, Dlrm):
        if mesh.tensor > 1 or mesh.expert > 1 or mesh.stages > 1:
            raise InputError(
                "a recommendation model runs with none or ddp: its tables are dealt to the GPUs",
                "parallel",
            )
        return
    if iteration.tokens is None and iteration.phase != "decode":
        raise InputError("missing: how many tokens a sequence has", "tokens")
    for what in ("heads", "ffn"):
        count = getattr(model, what)
        if count % mesh.tensor:
            raise InputError(
                f"{count} {what} of {model.name} do not divide by {mesh.tensor} GPUs", "parallel"
            )
    if mesh.expert > 1 and model.experts == 1:
        raise InputError(f"{model.name} has no experts to deal to GPUs", "parallel")
    if model.experts % mesh.expert:
        raise InputError(
            f"{model.experts} experts of {model.name} do not divide by {mesh.expert} GPUs",
            "parallel",
        )
    if iteration.batch % batches:
        raise InputError(
            f"{iteration.batch} sequences do not divide by {batches} micro batches", "parallel"
        )
    if iteration.batch // batches % iteration.halves:
        what = f"{iteration.batch // batches} sequences at a time have no two halves"
        raise InputError(f"{what}; give an even number", "batch")
    if iteration.layers is not None and iteration.layers > model.layers:
        raise InputError(
            f"got {iteration.layers}; {model.name} has {model.layers} layers", "layers"
        )


def build(planned: Plan, layers: int) -> Built:
    """Build *planned*, with *layers* layers on each GPU, as a workload. Raises InputError: an
    operator is larger than a task may be.
    """
    try:
        return _build(planned, layers)
    except ValidationError as error:
        raise InputError(_too_large(planned.iteration, error), "batch") from None


def _too_large(iteration: Iteration, error: ValidationError) -> str:
    """Message for the first field that is out of bounds: its value, the bound, and the sizes."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    must = first["msg"].removeprefix("Input should ")
    sizes = [
        f"batch {iteration.batch}",
        *([f"tokens {iteration.tokens}"] if iteration.tokens else []),
    ]
    what = f"{error.title.lower()} with {field} = {first['input']}, which must {must}"
    return f"{' and '.join(sizes)} need a {what}; make them smaller"


def _build(planned: Plan, layers: int) -> Built:
    iteration, node = planned.iteration, planned.node
    profile = iteration.profile or (
        next((name for name in DEFAULT_PROFILES if name in node.host_profiles), None)
    )
    calls = None if profile is None else node.host_profiles[profile].slowed(iteration.slowness)
    builder = Builder(node, planned.operators.activation, calls, groups=planned.mesh.groups)
    builder.recorded = iteration.phase == "training"
    builder.halves = iteration.halves == 2
    units = planned.units()
    fsdp = planned.kinds.get("fsdp")
    pieces = (
        units.layer.pieces(fsdp.pieces) * layers if fsdp and layers else (units.layer,) * layers
    )
    _pass(planned, builder, [units.start, *pieces, units.end])
    return Built(
        workload=Workload(
            schema_version=1,
            name=iteration.name,
            node=iteration.node,
            tasks=builder.tasks,
            host=HostThreads(
                launch="graph",
                profile=profile,
                slowness=iteration.slowness,
                loop=Loop(iterations=TURNS),
            ),
        ),
        classes=builder.classes,
        host=builder.host,
    )


def _pass(planned: Plan, builder: Builder, order: list[Unit]) -> None:
    """Forward, backward and optimizer over the units in *order*."""
    iteration = planned.iteration
    replicas = _replicas(planned)
    replicas.begin(builder, order)
    for index, unit in enumerate(order):
        replicas.before(builder, index, backward=False)
        _launch(builder, f"forward{index}", unit.forward)
        replicas.after(builder, index, backward=False)
    if planned.stages > 1:
        hand_on(builder, planned.operators, planned, "forward")
    if iteration.phase != "training":
        return
    again = iteration.checkpointing == "layer"
    builder.backward = True
    for index, unit in reversed(list(enumerate(order))):
        replicas.before(builder, index, backward=True)
        if again and 0 < index < len(order) - 1:
            _launch(builder, f"again{index}", unit.forward)
        for step, name in builder.run(f"backward{index}", unit.backward):
            replicas.ready(builder, name, step)
        replicas.after(builder, index, backward=True)
    if planned.stages > 1:
        hand_on(builder, planned.operators, planned, "backward")
    join(builder)
    replicas.end(builder)
    builder.backward = False
    name, kernels = iteration.optimizer, iteration.optimizer_kernels
    tensors = [size for unit in order for size in _tensors(unit)]
    ops = optimizer_ops(
        planned.operators,
        name,
        tensors,
        fused=kernels == "fused",
        shards=replicas.shards,
        master=iteration.master_weights,
        inside=iteration.optimizer_on == "memory",
    )
    builder.optimizer(f"{name}_{kernels}", ops, len(tensors))


def _launch(builder: Builder, prefix: str, steps: Any) -> None:
    for _ in builder.run(prefix, steps):
        pass


def _tensors(unit: Unit) -> list[int]:
    """Sizes of the unit's parameters on this GPU."""
    return [size for step in unit.backward if isinstance(step, Op) for size in step.gradients]


def _replicas(planned: Plan) -> Replicas:
    training = planned.iteration.phase == "training"
    for entry in planned.iteration.nested:
        if isinstance(entry, Fsdp):
            return Shards(entry, planned.operators, planned.replicas, training=training)
        if isinstance(entry, Ddp) and training:
            return _buckets(planned, entry)
    if planned.expert > 1 and training:  # what is not dealt out is data parallel
        return _buckets(planned, Ddp(kind="ddp"))
    return Replicas()


def _buckets(planned: Plan, ddp: Ddp) -> Buckets:
    """Experts that are dealt out have as many replicas as there are groups of them."""
    copies = planned.replicas // planned.expert if planned.expert > 1 else planned.replicas
    return Buckets(ddp, planned.operators, dealt=planned.expert > 1, copies=copies)
