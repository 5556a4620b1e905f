"""Schema 1 of an iteration: one step of a model on a node, run like a workload."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from c3sim.errors import InputError
from c3sim.spec.base import SchemaOne, Spec
from c3sim.spec.fields import ByForm
from c3sim.spec.layout import Layout
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.quantities import Bytes, Count, Factor, Parts, Positive
from c3sim.spec.task import Dtype
from c3sim.spec.workload import Workload

Phase = Literal["forward", "training", "prefill", "decode"]


class Alone(Spec):
    """Every GPU runs the whole model on its own batch."""

    kind: Literal["none"]


class Ddp(Spec):
    """Data parallel: every GPU has all weights; gradients are added up bucket by bucket as the
    backward pass makes them.
    """

    kind: Literal["ddp"]
    bucket: Bytes = 25.0 * 2**20
    """a bucket is sent when it has as much; the first one from 1 MiB on"""
    views: bool = False
    """true: gradients are views of the buckets (gradient_as_bucket_view of PyTorch); false: each
    is copied back once its bucket is reduced"""


class Fsdp(Spec):
    """Data parallel with weights, gradients and optimizer in shards; a layer's weights are gathered
    before it runs.
    """

    kind: Literal["fsdp"]
    prefetch: int = Field(1, ge=0)
    """layers that are gathered ahead of the one that runs"""
    forward_prefetch: bool = False
    """true: the host launches the gather of a layer in front of the kernels of the layer before it
    in the forward pass too, as in the backward pass; false: behind them"""
    reshard: bool = True
    """true: weights are freed after the forward pass, and gathered again for the backward one"""
    pieces: Literal[1, 2] = 1
    """parts of a layer that are gathered, run again and scattered by themselves; 2: attention and
    network"""


class Tensor(Spec):
    """Tensor parallel: every layer is split over the GPUs of a group."""

    kind: Literal["tensor"]
    size: Parts | None = None
    """GPUs of a group; left out: all that a pipeline leaves. Where it nests in ddp or fsdp it needs
    one"""
    sequence: bool = False
    """true: norms and residuals are split too, by tokens: reduce-scatters and all-gathers instead
    of all-reduces"""


class Expert(Spec):
    """Expert parallel: experts are dealt to the GPUs, all else is data parallel."""

    kind: Literal["expert"]
    size: Parts | None = None
    """data-parallel GPUs that experts are dealt to; left out: all"""


class Pipeline(Spec):
    """Pipeline: every stage has an equal part of the layers and hands its outputs on."""

    kind: Literal["pipeline"]
    size: Parts | None = None
    """stages; left out: all GPUs, or those that tensor groups leave"""
    micro_batches: Count = 4
    """parts of the batch that follow each other"""


#: Kind of an entry with a size -> the dimension of a layout.
DIMENSION_OF = {"tensor": "tp", "pipeline": "pp", "expert": "ep"}

Parallel = Annotated[Alone | Ddp | Fsdp | Tensor | Expert | Pipeline, Field(discriminator="kind")]


class TransformerInPlace(Transformer):
    """A transformer inside the description of an iteration."""

    schema_version: SchemaOne = Field(1, alias="schema")
    name: str = "own model"
    source: str = ""


class DlrmInPlace(Dlrm):
    """A recommendation model inside the description of an iteration."""

    schema_version: SchemaOne = Field(1, alias="schema")
    name: str = "own model"
    source: str = ""


class Mixture(Spec):
    """The experts of a mixture as they run."""

    skew: Factor = 0.0
    """standard deviation of the logarithm of experts' loads; 0: all get as many rows"""
    seed: int = Field(0, ge=0)
    """seed of the draw of loads"""
    dispatch: Literal["all_to_all", "all_gather", "kernels", "puts"] = "all_to_all"
    """how rows get to experts on other GPUs and back: every row to each of its experts; all rows to
    all GPUs, and sums of their results scattered; two-sided kernels that send a row once to each
    GPU that has experts of it, the library deepep of the node; or one-sided ones that store it at
    the place of each of its experts, the library puts"""
    units: Count | None = None
    """compute units of these kernels; left out: the library's choice"""

    @model_validator(mode="after")
    def _units_of_kernels(self) -> Mixture:
        if self.units is not None and self.dispatch not in ("kernels", "puts"):
            raise ValueError(f"units are for dispatch: kernels or puts; it is {self.dispatch}")
        return self


class Iteration(Spec):
    """One step of a model: its operators, and the collectives that its parallelism needs."""

    schema_version: SchemaOne = Field(alias="schema")
    kind: Literal["iteration"]
    name: str
    description: str = ""
    source: str = ""
    node: str = "mi300x-8"
    model: Annotated[str | TransformerInPlace | DlrmInPlace, ByForm()]
    """a name in workloads/models, a file, or a model's fields in place"""
    layers: Count | None = None
    """how many of the model's layers; left out: all"""
    head: bool | None = None
    """embedding, output head and loss too; left out: true, false where layers is given"""
    batch: Count = 1
    """sequences (samples) per data-parallel replica: a tensor or pipeline group, else a GPU"""
    tokens: Count | None = None
    """tokens of a sequence; needed but for decode, which makes one, and models without sequences"""
    context: int = Field(0, ge=0)
    """decode: tokens there already"""
    phase: Phase = "training"
    precision: Dtype = "bf16"
    """type of weights, activations, gradients and optimizer; fp8: of GEMMs, all else bf16"""
    optimizer: Literal["none", "adamw", "lamb"] = "none"
    master_weights: bool = False
    """mixed precision: the optimizer keeps weights and moments in 4 byte numbers, takes gradients
    from the others and gives them weights back"""
    autocast: bool = False
    """weights, gradients and optimizer have 4 byte numbers, norms and what goes round attention and
    network too; products have numbers of *precision* and cast their operands"""
    optimizer_on: Literal["compute_units", "memory"] = "compute_units"
    """memory: units inside the memory run it (gpu.hbm.internal_rate), a what-if"""
    checkpointing: Literal["none", "layer"] = "none"
    """layer: only a layer's input is kept, the backward pass runs it again"""
    parallel: Annotated[Layout | Parallel | tuple[Parallel, ...], ByForm()] = Alone(kind="none")
    """dimensions of a device mesh by name; or entries by kind, a list where they nest: the GPUs of
    a group of the last one are neighbours, what is not split is data parallel"""
    launch: Literal["eager", "graph"] = "eager"
    """eager: the host launches kernel by kernel; graph: it has no part"""
    profile: str | None = None
    """one of the node's host_profiles: what eager launches cost; left out: framework_alone, else
    framework, where the node has them"""
    slowness: Positive | None = None
    """how many times as long the profile's calls take on this host, as ``c3sim import --as host``
    finds; left out: the profile's own, for a host of unknown speed"""
    attention: Literal["flash", "flash_2", "eager"] = "flash"
    """flash: one kernel, its scores stay in the compute unit; flash_2: FlashAttention-2's, as
    PyTorch's FLASH_ATTENTION takes it (torchtitan does where sequences are shared); eager: scores
    in memory, an operator for each step"""
    mixture: Mixture = Mixture()
    """load of experts, and how rows get to them"""
    fused_qkv: bool | None = None
    """queries, keys and values by one GEMM, or by three; left out: as the model says"""
    scales: Literal["none", "tensor"] = "none"
    """fp8: tensor: each operand of a product gets a scale and is cast in front of it, as in
    training; none: operands are 8 bit numbers already"""
    halves: Literal[1, 2] = 1
    """2: two halves of the batch beside each other, the exchange of one while the other computes"""
    fused: bool = False
    """true: element-wise chains are one kernel each, as a compiler makes them"""
    optimizer_kernels: Literal["foreach", "fused"] = "foreach"
    """a pass over lists of tensors for each operation of the optimizer, or as few as it needs"""

    @model_validator(mode="after")
    def _fits_together(self) -> Iteration:
        if self.phase == "decode" and self.tokens not in (None, 1):
            raise ValueError(f"decode makes one token; got tokens: {self.tokens}")
        if self.phase != "decode" and self.context:
            raise ValueError(f"context is for decode; the phase is {self.phase}")
        if self.phase != "training" and self.optimizer != "none":
            raise ValueError(f"an optimizer is for training; the phase is {self.phase}")
        if self.scales != "none" and self.precision != "fp8":
            raise ValueError(f"scales are of fp8; the precision is {self.precision}")
        if self.autocast and self.precision not in ("bf16", "fp16"):
            raise ValueError(f"autocast is to 16 bit; the precision is {self.precision}")
        if self.autocast and self.master_weights:
            raise ValueError("autocast has weights of 4 bytes; master_weights are beside others")
        return self

    @property
    def nested(self) -> tuple[Parallel, ...]:
        """Kinds of parallelism in *parallel*, without ``none``; none of a layout by name."""
        given = self.parallel if isinstance(self.parallel, tuple) else (self.parallel,)
        return tuple(each for each in given if not isinstance(each, Layout | Alone))

    def in_names(self, setting: str) -> Iteration:
        """The same with *parallel* by names of dimensions, so that *setting* can be set, if that is
        one and entries by kind have none of that name. Raises InputError where one has no size.
        """
        step, _, rest = setting.removeprefix("parallel.").partition(".")
        named = isinstance(self.parallel, Layout) or rest or step not in Layout.model_fields
        if not setting.startswith("parallel.") or named:
            return self
        alone = self.parallel if isinstance(self.parallel, BaseModel) else None
        if alone is not None and step in type(alone).model_fields:
            return self
        fields: dict[str, Any] = {}
        for entry in self.nested:
            given = {name: getattr(entry, name) for name in entry.model_fields_set}
            size = given.pop("size", None)
            name = DIMENSION_OF.get(given.pop("kind"))
            if name and name != step:
                if size is None:
                    message = f"{entry.kind} takes all GPUs; say its size, or set parallel.{name}"
                    raise InputError(message, setting)
                fields[name] = size
            elif not name and step != "dp_shard":
                fields["dp_shard"] = 1 if entry.kind == "ddp" else -1
            fields |= given
        layout = Layout.model_validate(fields)
        return self.changed(parallel=layout)

    @property
    def length(self) -> int:
        """New tokens of a sequence."""
        return self.tokens or 1

    @property
    def has_head(self) -> bool:
        """True if embedding, output head and loss run."""
        return self.layers is None if self.head is None else self.head


#: Fields of a description that paths name as they are: ``batch``, ``parallel.prefetch``.
FIELDS = (
    frozenset(Iteration.model_fields)
    - {"schema_version", "kind", "name", "node"}
    - {"description", "source"}
)


class Described(Workload):
    """An iteration as paths, sweeps and studies see it: a workload whose *tasks* are those of a few
    of its layers, so that they can be named. A run builds its own tasks from *iteration*, and makes
    *changes* in them: (path, value, style of its numbers) in the order in which they were set.
    """

    iteration: Iteration
    takes: dict[str, float] = Field({})
    """how many times as long operators of a class take on the machine that was measured"""
    changes: tuple[tuple[str, Any, Literal["text", "si"]], ...] = ()


def noted(workload: Workload, path: str, value: object, style: str) -> Workload:
    """*workload*, in which *value* was set at *path*; of a description that is remembered."""
    if not isinstance(workload, Described):
        return workload
    return workload.changed(changes=(*workload.changes, (path, value, style)))
