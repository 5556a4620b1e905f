"""A description of an iteration as a workload: streams, dependencies, launches.

Operators run on the stream ``compute``, collectives one after the other on ``communication`` (one
communicator), copies into their buffers on ``copies``. Tasks are declared in the order of their
launches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.iterations.builder import Builder
from c3sim.iterations.dlrm import dlrm_units
from c3sim.iterations.layers import Share
from c3sim.iterations.operators import Op, OperatorSet
from c3sim.iterations.optimizers import optimizer_ops
from c3sim.iterations.parallel import Buckets, ExpertBuckets, Replicas, Shards
from c3sim.iterations.pipeline import hand_on
from c3sim.iterations.units import Unit, Units, transformer_units
from c3sim.specs.dlrm import Dlrm
from c3sim.specs.hardware import Node
from c3sim.specs.iteration import Ddp, Fsdp, Iteration
from c3sim.specs.kernel import Operator
from c3sim.specs.transformer import Transformer
from c3sim.specs.workload import HostThreads, Loop, Workload

Model = Transformer | Dlrm
#: An iteration is one of many: the power limit has averaged over those before it.
TURNS = 1000
DEFAULT_PROFILE = "framework"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a description comes to on a node: kinds of parallelism and their degrees."""

    iteration: Iteration
    model: Model
    node: Node
    operators: OperatorSet
    tensor: int = 1
    expert: int = 1
    stages: int = 1
    replicas: int = 1
    micro_batches: int = 1

    @property
    def kinds(self) -> dict[str, Any]:
        return {entry.kind: entry for entry in self.iteration.nested}

    @property
    def layers(self) -> int:
        """Of the model that run, on all GPUs."""
        if isinstance(self.model, Dlrm):
            return 0
        return self.model.layers if self.iteration.layers is None else self.iteration.layers

    @property
    def own_layers(self) -> int:
        """Of one GPU."""
        return -(-self.layers // self.stages)

    @property
    def batch(self) -> int:
        """Sequences that go through a GPU at a time."""
        return self.iteration.batch // self.micro_batches

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
    known = Plan(
        iteration=iteration,
        model=model,
        node=node,
        operators=OperatorSet.on(
            node.gpu,
            iteration.precision,
            fused=iteration.fused,
            eager=iteration.attention == "eager",
            separate=iteration.projections == "separate",
        ),
    )
    degrees = {"tensor": 1, "expert": 1, "stages": 1, "micro_batches": 1, "replicas": ranks}
    if "tensor" in kinds:
        degrees |= {"tensor": ranks, "replicas": 1}
    if "pipeline" in kinds:
        degrees |= {"stages": ranks, "replicas": 1}
        degrees["micro_batches"] = kinds["pipeline"].micro_batches
    if "expert" in kinds:
        degrees["expert"] = ranks
    _check_division(iteration, model, degrees)
    return Plan(iteration=iteration, model=model, node=node, operators=known.operators, **degrees)


def _check_nesting(kinds: Mapping[str, Any], iteration: Iteration, ranks: int) -> None:
    if len(kinds) < len(iteration.nested):
        raise InputError("a kind of parallelism is named twice", "parallel")
    if kinds and ranks < 2:
        raise InputError(f"{next(iter(kinds))} on one GPU; needs a node of at least 2", "parallel")
    if len(kinds) > 1 and ("expert" not in kinds or kinds.keys() & {"tensor", "pipeline"}):
        names = " in ".join(kinds)
        raise InputError(
            f"{names}: groups of fewer than all {ranks} GPUs are not modelled, a collective runs"
            " over all; what can nest: expert with ddp or fsdp",
            "parallel",
        )
    if len(kinds) > 2:
        raise InputError("expert nests with ddp or with fsdp, not with both", "parallel")


def _check_division(iteration: Iteration, model: Model, degrees: Mapping[str, int]) -> None:
    if isinstance(model, Dlrm):
        if degrees["tensor"] > 1 or degrees["expert"] > 1 or degrees["stages"] > 1:
            raise InputError(
                "a recommendation model runs with none or ddp: its tables are dealt to the GPUs",
                "parallel",
            )
        return
    if iteration.tokens is None and iteration.phase != "decode":
        raise InputError("missing: how many tokens a sequence has", "tokens")
    for what in ("heads", "ffn"):
        count = getattr(model, what)
        if count % degrees["tensor"]:
            raise InputError(
                f"{count} {what} of {model.name} do not divide by {degrees['tensor']} GPUs",
                "parallel",
            )
    if degrees["expert"] > 1 and model.experts == 1:
        raise InputError(f"{model.name} has no experts to deal to GPUs", "parallel")
    if model.experts % degrees["expert"]:
        raise InputError(
            f"{model.experts} experts of {model.name} do not divide by {degrees['expert']} GPUs",
            "parallel",
        )
    if iteration.batch % degrees["micro_batches"]:
        raise InputError(
            f"{iteration.batch} sequences do not divide by {degrees['micro_batches']}"
            " micro batches",
            "parallel",
        )
    if iteration.layers is not None and iteration.layers > model.layers:
        raise InputError(
            f"got {iteration.layers}; {model.name} has {model.layers} layers", "layers"
        )


def build(planned: Plan, layers: int) -> Built:
    """*planned* with so many layers on each GPU as a workload."""
    iteration, node = planned.iteration, planned.node
    profile = iteration.profile or (
        DEFAULT_PROFILE if DEFAULT_PROFILE in node.host_profiles else None
    )
    calls = None if profile is None else node.host_profiles[profile]
    builder = Builder(node, planned.operators.activation, calls)
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
            host=HostThreads(launch="graph", profile=profile, loop=Loop(iterations=TURNS)),
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
    replicas.end(builder)
    builder.backward = False
    fused = iteration.optimizer_kernels == "fused"
    tensors = [size for unit in order for size in _tensors(unit)]
    for op in optimizer_ops(
        planned.operators,
        iteration.optimizer,
        tensors,
        fused=fused,
        shards=replicas.shards,
        master=iteration.master_weights,
        inside=iteration.optimizer_on == "memory",
    ):
        builder.compute("optimizer", op)


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
            return Shards(entry, planned.operators, planned.node.ranks, training=training)
        if isinstance(entry, Ddp) and training:
            kind = ExpertBuckets if planned.expert > 1 else Buckets
            return kind(entry, planned.operators)
    if planned.expert > 1 and training:  # what is not dealt out is data parallel
        return ExpertBuckets(Ddp(kind="ddp"), planned.operators)
    return Replicas()
