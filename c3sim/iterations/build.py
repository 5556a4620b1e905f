"""A description of an iteration as a workload: streams, dependencies, launches.

Operators run on the stream ``compute``, copies into buffers of collectives on ``copies``. Every
process group has a communicator and a stream of its own, on which its collectives follow each
other: ``communication`` is that of all GPUs, ``communication-tensor`` that of tensor groups, and so
on (torch.distributed: an internal stream of each ProcessGroupNCCL). Names for the same GPUs are one
group. Tasks are declared in the order of their launches.

Of a pipeline, or where gradients are accumulated, parts of a stage are built: its layers, what the
first stage has before them and the last behind, and the copy that hands a micro batch on
(stages.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from c3sim.errors import InputError
from c3sim.iterations.autocast import casts_around
from c3sim.iterations.builder import Builder
from c3sim.iterations.dlrm import dlrm_units
from c3sim.iterations.halves import join
from c3sim.iterations.load import Dispatch, Load, check_dispatch
from c3sim.iterations.mesh import Mesh, mesh_of
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.optimizers import optimizer_ops
from c3sim.iterations.parallel import Buckets, Replicas, Shards
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Op, Step
from c3sim.iterations.units import NOTHING, Unit, Units, transformer_units
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Iteration, Pipeline
from c3sim.spec.layout import Layout, Schedule
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.task import Operator
from c3sim.spec.words import unknown
from c3sim.spec.workload import Copy, HostThreads, Loop, Workload

Model = Transformer | Dlrm
#: An iteration is one of many: the power limit has averaged over those before it.
TURNS = 1000
#: Without a profiler, where a node has that.
DEFAULT_PROFILES = ("framework_alone", "framework")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A description resolved on a node: its mesh, *schedule* and *chunks* of a pipeline."""

    iteration: Iteration
    model: Model
    node: Node
    operators: OperatorSet
    mesh: Mesh
    micro_batches: int = 1
    schedule: Schedule = "1f1b"
    chunks: int = 1

    @property
    def tensor(self) -> int:
        """GPUs that share a layer."""
        return self.mesh.size("tp")

    @property
    def expert(self) -> int:
        """GPUs that experts are dealt to."""
        return self.mesh.ep

    @property
    def stages(self) -> int:
        return self.mesh.size("pp")

    @property
    def replicas(self) -> int:
        """Data parallel."""
        return self.mesh.replicas

    @property
    def layout(self) -> Layout | None:
        """Dimensions by name, if they were given so."""
        given = self.iteration.parallel
        return given if isinstance(given, Layout) else None

    @property
    def in_turns(self) -> bool:
        """True if several micro batches or stages make the iteration."""
        return self.stages > 1 or self.micro_batches > 1

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

    def share(self) -> Share | None:
        """One GPU's part of a layer."""
        if isinstance(self.model, Dlrm):
            return None
        split = next((each for each in self.iteration.nested if each.kind == "tensor"), self.layout)
        return Share(
            sequences=self.batch,
            tokens=self.iteration.length,
            context=self.iteration.context,
            tensor=self.tensor,
            split=bool(getattr(split, "sequence", False)) and self.tensor > 1,
            expert=self.expert,
            expert_tensor=self.mesh.etp,
            sequence_parts=self.mesh.size("cp"),
            sequence_by="all_gather" if self.layout is None else self.layout.cp_by,
            sequence_rotate=None if self.layout is None else self.layout.cp_rotate,
            training=self.iteration.phase == "training",
            load=Load(self.iteration.mixture.skew, self.iteration.mixture.seed),
            dispatch=Dispatch(self.iteration.mixture.dispatch, self.iteration.mixture.units),
        )

    def units(self) -> Units:
        """The model's parts on one GPU. Raises InputError: an operator is larger than a task may
        be.
        """
        with _no_larger(self.iteration):
            return self._units()

    def _units(self) -> Units:
        if isinstance(self.model, Dlrm):
            return dlrm_units(
                self.operators,
                self.model,
                self.batch,
                self.replicas,
                training=self.iteration.phase == "training",
            )
        share = self.share()
        assert share is not None  # but for those
        return transformer_units(
            self.operators,
            self.model,
            share,
            self.own_layers,
            first=self.layers - self.own_layers,
            head=self.iteration.has_head,
            generates=self.iteration.phase in ("prefill", "decode"),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """A workload, the operator class of each task, and the host's seconds for all launches.
    *turned*: the last task of the forward pass; *weights*: those of gradients of weights, for which
    no other stage waits.
    """

    workload: Workload
    classes: Mapping[str, Operator]
    host: float
    turned: str = ""
    weights: frozenset[str] = frozenset()


class Piece(NamedTuple):
    """A part to build: an iteration of one stage, or of its stages the *start* of the first, the
    *layers*, the *end* of the last, or a copy from stage to stage *within* a node or *between*
    nodes. *once*: the micro batch whose gradients are exchanged, with the optimizer behind it.
    """

    name: Literal["whole", "start", "layers", "end", "within", "between"]
    once: bool = True


WHOLE = Piece("whole")


def plan(iteration: Iteration, model: Model, node: Node) -> Plan:
    """Degrees of parallelism. Raises InputError for what cannot be split so, or is not modelled."""
    _check_nesting(iteration, node.ranks)
    if iteration.profile is not None and iteration.profile not in node.host_profiles:
        raise InputError(unknown("host profile", iteration.profile, node.host_profiles), "profile")
    if iteration.fused_qkv is not None and isinstance(model, Transformer):
        model = model.changed(fused_qkv=iteration.fused_qkv)
    mesh = mesh_of(iteration, node)
    turns = _turns(iteration, mesh)
    _check_division(iteration, model, mesh, turns)
    check_dispatch(iteration.mixture, node)
    return Plan(
        iteration=iteration,
        model=model,
        node=node,
        operators=OperatorSet.on(
            node.gpu,
            iteration.precision,
            fused=iteration.fused,
            eager=iteration.attention == "eager",
            flash_2=iteration.attention == "flash_2",
            rms=isinstance(model, Transformer) and model.gated,
            autocast=iteration.autocast,
        ),
        mesh=mesh,
        micro_batches=turns.batches,
        schedule=turns.schedule,
        chunks=turns.chunks,
    )


class _Turns(NamedTuple):
    """Micro batches, their order in the stages, parts of a stage on each GPU."""

    batches: int
    schedule: Schedule
    chunks: int


def _turns(iteration: Iteration, mesh: Mesh) -> _Turns:
    layout = iteration.parallel
    if not isinstance(layout, Layout):
        of = next((each for each in iteration.nested if each.kind == "pipeline"), None)
        return _Turns(of.micro_batches if isinstance(of, Pipeline) else 1, "1f1b", 1)
    stages = mesh.size("pp")
    batches = layout.micro_batches or (iteration.batch if stages > 1 else 1)
    if stages == 1 and layout.chunks is not None:
        raise InputError("parts of stages need a pipeline, pp above 1", "parallel.chunks")
    if layout.chunks is not None and layout.schedule != "interleaved":
        raise InputError(f"{layout.schedule} has none; they are interleaved's", "parallel.chunks")
    if stages > 1 and layout.schedule == "dualpipe" and (stages % 2 or batches % 2):
        message = f"dualpipe needs an even number of stages and micro batches, not {stages} and"
        raise InputError(f"{message} {batches}", "parallel.schedule")
    if stages > 1 and layout.schedule == "dualpipe" and batches < 2 * stages:
        message = f"dualpipe needs at least 2 x pp micro batches, {2 * stages}; there are {batches}"
        raise InputError(message, "parallel.schedule")
    if stages > 1 and layout.schedule == "interleaved" and batches % stages:
        message = f"interleaved needs a multiple of pp, {stages}, as micro batches, not {batches}"
        raise InputError(message, "parallel.micro_batches")
    if iteration.phase != "training" and layout.schedule not in ("gpipe", "1f1b"):
        raise InputError(f"{layout.schedule} is for training", "parallel.schedule")
    chunks = (layout.chunks or 2) if layout.schedule == "interleaved" else 1
    return _Turns(batches, layout.schedule, chunks)


def _check_nesting(iteration: Iteration, ranks: int) -> None:
    kinds: dict[str, Any] = {entry.kind: entry for entry in iteration.nested}
    if len(kinds) < len(iteration.nested):
        raise InputError("a kind of parallelism is named twice", "parallel")
    if kinds and ranks < 2:
        raise InputError(f"{next(iter(kinds))} on one GPU; needs a node of at least 2", "parallel")
    if {"ddp", "fsdp"} <= kinds.keys():
        raise InputError("data parallel is ddp or fsdp, not both", "parallel")
    if "pipeline" in kinds and kinds.keys() & {"ddp", "fsdp", "expert"}:
        message = "what data-parallel pipelines exchange once for all micro batches is not modelled"
        raise InputError(f"{message}; a pipeline nests with tensor", "parallel")


def _check_division(iteration: Iteration, model: Model, mesh: Mesh, turns: _Turns) -> None:
    batches, tensor, expert = turns.batches, mesh.size("tp"), mesh.ep
    stages, parts = mesh.size("pp") * turns.chunks, mesh.size("cp")
    if isinstance(model, Dlrm):
        if tensor > 1 or expert > 1 or stages > 1 or parts > 1 or mesh.fsdp:
            raise InputError(
                "a recommendation model runs with none or ddp: its tables are dealt to the GPUs",
                "parallel",
            )
        return
    if iteration.tokens is None and iteration.phase != "decode":
        raise InputError("missing: how many tokens a sequence has", "tokens")
    for what in ("heads", "ffn", "dense_ffn", "shared_ffn"):
        count = getattr(model, what)
        if (count or 0) % tensor:
            raise InputError(
                f"{count} {what} of {model.name} do not divide by {tensor} GPUs", "parallel"
            )
    if expert > 1 and model.experts == 1:
        raise InputError(f"{model.name} has no experts to deal to GPUs", "parallel")
    if model.experts % expert:
        raise InputError(
            f"{model.experts} experts of {model.name} do not divide by {expert} GPUs", "parallel"
        )
    if parts > 1:
        _check_context(iteration, model, tensor, parts)
    layers = model.layers if iteration.layers is None else iteration.layers
    if stages > layers:
        raise InputError(f"{stages} stages of {layers} layers; each needs one", "parallel")
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


def _check_context(iteration: Iteration, model: Transformer, tensor: int, parts: int) -> None:
    """Sequences over *parts* GPUs."""
    where, length = "parallel.cp", iteration.length
    by = iteration.parallel.cp_by if isinstance(iteration.parallel, Layout) else ""
    if model.window is not None and by == "ring":
        message = "a ring passes keys on whatever a window sees; cp_by must be all_gather or"
        raise InputError(f"{message} all_to_all for a model with windows", "parallel.cp_by")
    if iteration.phase == "decode":
        raise InputError("decode makes one token of a sequence, which nothing divides", where)
    if iteration.attention == "eager":
        raise InputError("attention: eager keeps all scores on one GPU; cp needs flash", where)
    if length % (2 * parts * tensor):
        message = f"{length} tokens do not divide by 2 x cp x tp, {2 * parts * tensor}: each GPU"
        raise InputError(f"{message} has a piece from both ends of a sequence", where)
    if by == "all_to_all" and model.heads // tensor % parts:
        message = f"{model.heads // tensor} heads of a GPU do not divide by cp {parts}"
        raise InputError(f"{message}; all_to_all hands heads out", where)


def build(planned: Plan, layers: int, piece: Piece = WHOLE) -> Built:
    """Build *planned*, with *layers* layers on each GPU, or a *piece* of it, as a workload. Raises
    InputError: an operator is larger than a task may be.
    """
    with _no_larger(planned.iteration):
        return _build(planned, layers, piece)


@contextmanager
def _no_larger(iteration: Iteration) -> Iterator[None]:
    """Raises InputError, of the sizes of *iteration*, where a task inside is larger than may be."""
    try:
        yield
    except ValidationError as error:
        raise InputError(_too_large(iteration, error), "batch") from None


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


def _build(planned: Plan, layers: int, piece: Piece) -> Built:
    iteration, node = planned.iteration, planned.node
    profile = iteration.profile or (
        next((name for name in DEFAULT_PROFILES if name in node.host_profiles), None)
    )
    calls = None if profile is None else node.host_profiles[profile].slowed(iteration.slowness)
    builder = Builder(node, planned.operators.activation, calls, groups=planned.mesh.groups)
    builder.recorded = iteration.phase == "training"
    builder.halves = iteration.halves == 2
    builder.around = casts_around(iteration, planned.model, planned.operators, planned.mesh)
    units = planned.units()
    fsdp = planned.mesh.fsdp
    count = fsdp.pieces if fsdp else 1
    pieces = [part for layer in units.each[:layers] for part in layer.pieces(count)]
    start = units.start if piece.name in ("whole", "start") else NOTHING
    end = units.end if piece.name in ("whole", "end") else NOTHING
    if piece.name not in ("within", "between"):
        _pass(planned, builder, [start, *pieces, end], piece)
    if planned.stages > 1 and piece.name in ("whole", "within", "between"):
        hand_on(planned, builder, across=piece.name == "between")
    return Built(
        workload=_workload(planned, builder, profile),
        classes=builder.classes,
        host=builder.host,
        turned=builder.turned,
        weights=frozenset(builder.weights),
    )


def _workload(planned: Plan, builder: Builder, profile: str | None) -> Workload:
    """What is built, checked strictly: pydantic then asks nothing that would swallow a Ctrl-C."""
    queues = None if planned.layout is None else planned.layout.queues
    slowness, loop = planned.iteration.slowness, Loop(iterations=TURNS)
    host = HostThreads(launch="graph", profile=profile, queues=queues, slowness=slowness, loop=loop)
    of_step = {"name": planned.iteration.name, "node": planned.iteration.node, "host": host}
    tasks = {"tasks": builder.tasks, "streams": builder.streams}
    return Workload.model_validate({"schema": 1, **of_step, **tasks}, strict=True)


def hand_on(planned: Plan, builder: Builder, *, across: bool) -> None:
    """Copy a micro batch's output to the next stage, in another node where that is *across*. Parts
    of the tokens that GPUs of a tensor group have go by themselves.
    """
    share, node, model = planned.share(), planned.node, planned.model
    assert share is not None and isinstance(model, Transformer)
    size = float(share.own_rows * model.hidden * planned.operators.element)
    stride = planned.mesh.stride("pp")
    if across or stride >= node.gpus:
        peer = max(stride, node.gpus)
        task = Copy(kind="copy", bytes=size, peer=peer, executor="nic", gpus="all")
    else:
        task = Copy(kind="copy", bytes=size, peer=stride, executor="kernel", gpus="all")
    builder.transfer("hand-on", task, "pipeline")


def _pass(planned: Plan, builder: Builder, order: list[Unit], piece: Piece) -> None:
    """Forward, backward and optimizer over the units in *order*."""
    iteration = planned.iteration
    replicas = _replicas(planned, once=piece.once)
    replicas.begin(builder, order)
    for index, unit in enumerate(order):
        replicas.before(builder, index, backward=False)
        _launch(builder, f"forward{index}", unit.forward)
        replicas.after(builder, index, backward=False)
    builder.turned = builder.last
    if iteration.phase != "training":
        return
    again = iteration.checkpointing == "layer"
    builder.backward = True
    for index, unit in reversed(list(enumerate(order))):
        replicas.before(builder, index, backward=True)
        if again and 0 < index < len(order) - 1:
            _launch(builder, f"again{index}", unit.forward)
        steps = unit.backward if piece.once else _accumulated(planned, unit, replicas)
        for step, name in builder.run(f"backward{index}", steps):
            replicas.ready(builder, name, step)
        replicas.after(builder, index, backward=True)
    join(builder)
    replicas.end(builder)
    builder.backward = False
    if not piece.once:
        return
    name, kernels = iteration.optimizer, iteration.optimizer_kernels
    tensors = [size / replicas.ways(step) for step, size in _gradients(order)]
    ops = optimizer_ops(
        planned.operators,
        name,
        tensors,
        fused=kernels == "fused",
        master=iteration.master_weights,
        inside=iteration.optimizer_on == "memory",
    )
    builder.optimizer(f"{name}_{kernels}", ops, len(tensors))


def _accumulated(planned: Plan, unit: Unit, replicas: Replicas) -> list[Step]:
    """Backward steps of *unit* where each gradient is added to that of the micro batches before,
    a kernel for each parameter, of a shard of it where each micro batch's are scattered. B micro
    batches add B - 1 times: all but the first; here all but the one that is built *once*.
    """
    scattered = isinstance(replicas, Shards) and replicas.reduces
    steps: list[Step] = []
    for step in unit.backward:
        steps.append(step)
        if not isinstance(step, Op):
            continue
        ways = replicas.ways(step) if scattered else 1
        for number, size in enumerate(step.gradients):
            name = f"{step.name}-accumulate{number or ''}"
            steps.append(planned.operators.elementwise(name, size / ways, 2, 1))
    return steps


def _launch(builder: Builder, prefix: str, steps: Any) -> None:
    for _ in builder.run(prefix, steps):
        pass


def _gradients(order: list[Unit]) -> Iterator[tuple[Op, int]]:
    """Each parameter of the units in *order*: the step behind which its gradient is complete, and
    its size.
    """
    for step in (step for unit in order for step in unit.backward):
        if isinstance(step, Op):
            yield from ((step, size) for size in step.gradients)


def _replicas(planned: Plan, *, once: bool) -> Replicas:
    """Exchanges of data-parallel replicas in a micro batch: in a pipeline gradients only *once*,
    and weights that are kept; where they are accumulated, those in buckets only once.
    """
    mesh, training = planned.mesh, planned.iteration.phase == "training"
    if mesh.fsdp is not None:
        if not once and planned.stages > 1:
            again = mesh.fsdp.reshard
            return Shards(mesh, planned.operators, reduces=False) if again else Replicas()
        return Shards(mesh, planned.operators)
    if mesh.ddp is not None and training and once:
        return Buckets(mesh.ddp, planned.operators, copies=mesh.copies)
    return Replicas()
