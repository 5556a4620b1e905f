"""Schema 1 of a study: scenarios listed one by one, axes to cross, strategies, and what is asked.

``c3sim study``, ``c3sim sweep`` and ``c3sim optimise`` read the same file. ``kind`` says what
``c3sim study`` makes of it, ``outputs`` are columns of single points, ``search`` is for
``c3sim optimise``; ``serving``, ``pieces``, ``applications`` and ``machines`` are for kinds of
their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, field_validator, model_validator

from c3sim.spec.base import SchemaOne, Spec
from c3sim.spec.fields import ByForm
from c3sim.spec.pieces import PiecesStudy
from c3sim.spec.published import check_published, model_for
from c3sim.spec.quantities import (
    Bandwidth,
    Bytes,
    Count,
    Extent,
    FileName,
    Fraction,
    Frequency,
    Parts,
    Pieces,
    Positive,
    Time,
    Trials,
    Workgroups,
)
from c3sim.spec.task import Dtype

#: Operations of applications; c3sim/cachelab/nests.py has their loop nests.
ApplicationKind = Literal[
    "gemm", "composed", "activation", "pooling", "batch_norm", "softmax", "lrn", "fully_connected",
    "gru", "lstm",
]  # fmt: skip
Guess = Literal[
    "latency", "asked", "scattered", "l2_rate", "reached",
    "l1_ways", "queue", "interleave", "row_lines", "row_time", "residents",
]  # fmt: skip
Interval = Annotated[tuple[Positive, Positive], Field(description="what it may be, SI")]


class Application(Spec):
    """One of the applications. *shape* by the letters of its kind: m n k of a product, n c h w of
    images, window and stride of pooling or of the neighbourhood over channels, hidden, batch and
    steps of a recurrent layer.
    """

    kind: ApplicationKind
    backward: bool = False
    dtype: Literal["fp32", "fp64"] = "fp32"
    shape: dict[str, Extent]
    source: str


class PlainMachine(Spec):
    """A machine of which only this is published."""

    compute_units: Parts
    clock: Frequency
    flops_per_cycle: dict[Literal["fp32", "fp64"], Positive]
    """FLOP of a compute unit in a cycle"""
    l1: Bytes
    l2: Bytes
    line: Bytes
    ways: Count
    """ways of L2"""
    memory: Bandwidth
    source: str


class PolicyMachines(Spec):
    """The *published* machine, *nodes* of files, and what is guessed of all of them."""

    published: PlainMachine
    nodes: tuple[str, ...] = ()
    guesses: dict[Guess, Interval]
    """latency [s] of memory; asked: requests in flight, of those that fill memory; scattered: part
    of the peak that lines without row hits reach; l2_rate: B of L2 for each B of memory; reached:
    part of the peak FLOP; and what the cache laboratory follows lines with, at the middle
    (c3sim/cachelab/machines.yaml)"""
    draws: Count = 64
    seed: int = Field(1, ge=0)

    @model_validator(mode="after")
    def _guesses_all(self) -> PolicyMachines:
        if missing := [name for name in get_args(Guess) if name not in self.guesses]:
            raise ValueError(f"guesses lack {', '.join(missing)}")
        return self


Tokens = Annotated[int, Field(gt=0, le=10_000_000)]


class Serving(Spec):
    """Requests with a prompt whose beginning is, in part, in host memory as keys and values (KV) of
    an earlier one.
    """

    model: str = "llama-3-8b"
    """name or file of a model (workloads/models)"""
    tensor_parallel: Parts = 1
    """GPUs that share every layer; the node is cut to as many"""
    precision: Dtype | None = None
    """type of weights, activations, keys and values; fp8: of products of layers and their weights,
    all else as the model says; left out: as it says, bf16 where that is fp32"""
    block_tokens: Tokens = 16
    """tokens of one KV block; vLLM's default is 16"""
    layout: Literal["per_layer", "contiguous"] = "per_layer"
    """what lies together in memory, so what one copy moves: a block of one layer, or of all
    layers"""
    load: Literal["async", "blocking", "layerwise"] = "async"
    """async: a request waits for its whole prefix while others' steps go on; blocking: everybody
    waits; layerwise: its first step begins when the first layer's blocks are there, the others
    arrive beside it"""
    submitter: Literal["worker", "own"] = "worker"
    """who submits copies: the thread that launches the steps, or a thread of its own"""
    prompt_tokens: Tokens = 4096
    output_tokens: Tokens = 128
    """tokens generated per request, the first one included"""
    hit_rate: Fraction = 0.9
    """share of the prompt whose KV is in host memory; whole blocks"""
    requests: Pieces = 64
    arrivals_per_second: Positive | None = None
    """Poisson arrivals; left out: all requests are there at the start"""
    seed: int = 0
    """seed of the arrivals"""
    batch_tokens: Tokens = 8192
    """tokens of one step at most; longer prompts go in chunks"""
    max_sequences: Tokens = 256
    """requests that are admitted at a time"""
    memory_share: Fraction = 0.9
    """share of GPU memory for weights and KV; vLLM's default"""
    gather_workgroups: Workgroups = 8
    """workgroups of a gather kernel; 4 fill the host link of MI300X, 8 put one on each die"""
    attention_efficiency: Fraction = Field(0.5, gt=0)
    """share of the matrix peak that attention over a prompt reaches; an estimate, 0.3 to 0.7:
    FlashAttention-2 (arXiv 2307.08691) reaches 0.5 to 0.73 on A100"""


#: Kinds that come with c3sim; a package of anybody may add others (entry points c3sim.studies).
Kind = Literal[
    "sweep",
    "c3",
    "dma_variants",
    "c3_variants",
    "kv_fetch",
    "operator_shares",
    "training_overlap",
    "channels",
    "pieces",
    "t3",
    "fused",
    "cache_policies",
    "keep_or_stream",
]
#: Kinds that are made of points with outputs; the others measure something of their own.
WITH_POINTS = ("sweep", "c3")
#: Kinds of whole iterations, and kinds that compare several nodes.
OF_ITERATIONS = ("operator_shares", "training_overlap")
ON_NODES = (*OF_ITERATIONS, "channels")
#: Kinds whose cases are rows of a table of their own.
OF_A_TABLE = ("t3", "fused")
#: Outputs of earlier files that stood for a kind -> the fields that say it today.
_FORMER_OUTPUTS = {
    "c3": ("kind: c3",),
    "auto": ("kind: c3",),
    "characterisation": ("kind: c3", "characterisation: true"),
    "band": ("kind: c3", "pool: NAME (the study of other pairs)"),
    "dma_variants": ("kind: dma_variants",),
    "c3_variants": ("kind: c3_variants",),
    "kv_fetch": ("kind: kv_fetch",),
}


class Scenario(Spec):
    """A workload by name, with values set in it (paths as for ``--set``)."""

    name: str
    label: str = ""
    workload: str | None = Field(None, description="left out: the study's")
    set: dict[str, Any] = Field({})


class Range(Spec):
    """Values from one end to the other, both included; the ends are written as any value, with a
    unit.
    """

    start: Any = Field(alias="from")
    to: Any
    steps: int | None = Field(None, ge=2, description="how many values, both ends included")
    factor: float | None = Field(
        None, gt=1, description="from one value to the next, instead of steps"
    )
    log: bool = Field(False, description="with steps: equal ratios instead of equal differences")


Values = Annotated[tuple[Any, ...] | Range, ByForm()]


class Alternative(Spec):
    """An alternative to the usual condition."""

    name: str
    set: dict[str, Any] = Field({}, description="values of every run (paths as for --set)")
    isolated: dict[str, Any] = Field(
        {},
        description="values, over those of set, of the isolated runs that the ideal is taken from",
    )
    yardstick: Literal["baseline", "own"] = Field(
        "baseline",
        description="whose isolated times the ideal is taken from: collectives on compute units,"
        " or as the strategy runs them",
    )


class Assumption(Spec):
    """A condition of the published runs that nobody published. A draw of the band has the usual
    condition or one of the alternatives, all with the same chance.
    """

    name: str
    usual: str = Field(description="what the study assumes")
    unknown: str = Field(description="why it is not known")
    source: str
    measure: str = Field("", description="what measurement would settle it")
    alternatives: tuple[Alternative, ...] = Field(min_length=1)


class Fact(Spec):
    """An isolated time, or a ratio of two, that draws of the band are weighed by.

    With what is *published* and what comes out under a draw, the likelihood of the draw is
    exp(-z2 / 2), z2 the square of ln(here / published) / error; between two ends z is 0.
    """

    name: str
    time: Time | None = Field(None, description="published time of the task alone")
    ratio: tuple[Positive | None, Positive | None] | None = Field(
        None, description="instead of time: least and most of a ratio of two times; null: no bound"
    )
    error: Positive = Field(description="one standard deviation, relative: the source's spread")
    source: str
    of: Literal["record", "study"] = Field(
        "record",
        description="record: of other runs, so only parameters are drawn; study: of the published"
        " study's own runs, so its unknown conditions hold as well",
    )
    task: str = Field(description="task of the study's workload that runs alone")
    set: dict[str, Any] = Field({}, description="values of the run (paths as for --set)")
    over: dict[str, Any] | None = Field(
        None, description="values of a second run, by whose time the first is divided"
    )
    fewer: Count | None = Field(
        None, description="compute units taken from a GEMM, whose time with all of them divides"
    )
    scenarios: tuple[str, ...] = Field(
        (), description="the mean over these scenarios of the study; left out: the first one"
    )

    @model_validator(mode="after")
    def _is_a_time_or_a_ratio(self) -> Fact:
        if (self.time is None) == (self.ratio is None):
            raise ValueError("give time or ratio, and not both")
        if self.over is not None and self.fewer is not None:
            raise ValueError("over and fewer both divide; give one of them")
        if (self.over is None and self.fewer is None) != (self.ratio is None):
            raise ValueError("ratio and one of over and fewer belong together")
        if self.time == 0 or self.ratio == (None, None):
            raise ValueError("a fact needs a time above 0, or an end of its ratio")
        return self

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Least and most that is published: s, or 1."""
        return self.ratio if self.ratio is not None else (self.time, self.time)


class Band(Spec):
    """Unknown conditions and parameters, which give the means a band."""

    draws: Trials = Field(16, description="draws of parameters and assumptions")
    screened: Trials = Field(
        128, description="with facts: draws of which isolated runs are compared with them"
    )
    facts: tuple[Fact, ...] = Field(
        (), description="isolated facts by which draws are weighed: the conditioned band"
    )
    seed: int = Field(1, ge=0)
    skip: tuple[str, ...] = Field(
        (), description="scenarios that no draw simulates; the mean change of the others stands"
    )
    assumptions: tuple[Assumption, ...] = ()


class Search(Spec):
    """Knobs and objective of ``c3sim optimise``."""

    knobs: dict[str, Values] = Field(
        min_length=1,
        description="path -> choices, or a range; one without steps and factor is continuous",
    )
    objectives: dict[str, Literal["maximise", "minimise", "maximize", "minimize"]] = Field(
        min_length=1, description="outputs and costs -> direction"
    )
    sampler: Literal["nsga2", "tpe"] = "nsga2"
    trials: Trials = Field(200, description="designs to try")
    generation: Trials = Field(
        20, description="designs chosen at a time, each from the results before them"
    )
    seed: int = Field(1, ge=0)


def _check_names(field: str, names: tuple[str, ...], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{field}: {name!r} is no scenario of the study")


class Study(Spec):
    schema_version: SchemaOne = Field(alias="schema")
    name: FileName
    kind: str = Field("sweep", description="what c3sim study makes of it; sweep: rows only")
    description: str = ""
    source: str = ""
    node: str = "mi300x-8"
    nodes: tuple[str, ...] = Field(
        (), description="instead of node, of kinds that compare several; each runs every scenario"
    )
    workload: str | None = Field(None, description="default workload of the scenarios")
    iterations: tuple[str, ...] = Field(
        (), description="instead of a workload: descriptions of iterations; each in every scenario"
    )
    serving: Serving | None = Field(
        None,
        description="instead of a workload: requests to an inference engine;"
        " paths serving.hit_rate and so on",
    )
    pieces: PiecesStudy | None = Field(
        None, description="instead of a workload: GEMMs and collectives that run in pieces"
    )
    scenarios: tuple[Scenario, ...] = ()
    axes: dict[str, Values] = Field(
        {}, description="path -> values or a range; crossed with each other and the scenarios"
    )
    linked: tuple[dict[str, Values], ...] = Field(
        (), description="axes of several paths that move together, value by value"
    )
    constraints: tuple[str, ...] = Field(
        (),
        description="expressions over paths, scenario and strategy;"
        " points where one is false are left out",
    )
    costs: dict[str, str] = Field(
        {}, description="name -> expression over paths, such as an area proxy; outputs may name it"
    )
    strategies: tuple[str, ...] = ("base",)
    outputs: tuple[str, ...] = ("wall_s", "speedup", "fraction_of_ideal", "own_fraction")
    pool: str | None = Field(
        None,
        description="kind c3: a study of other pairs, from which other tables are drawn;"
        " of kind keep_or_stream: a study whose scenarios come first",
    )
    band: Band | None = Field(None, description="kind c3: how sure the means are")
    characterisation: bool = Field(
        False, description="kind c3: isolated behaviour as well, beside published figures"
    )
    table: tuple[dict[str, Any], ...] = Field(
        (), description="kinds t3 and fused: their cases, in fields of the kind"
    )
    assumptions: dict[str, Any] = Field(
        {}, description="kinds t3 and fused: values that nobody published, with their reasons"
    )
    search: Search | None = Field(None, description="for c3sim optimise")
    applications: dict[str, Application] = Field(
        {}, description="kind cache_policies: kernels by their shapes"
    )
    machines: PolicyMachines | None = Field(
        None, description="kind cache_policies: what they run on"
    )
    published: Annotated[dict[str, Any], AfterValidator(check_published)] = Field(
        {}, description="figures to show beside, with their source; never inputs"
    )

    @classmethod
    def inside(cls, step: object, value: Any) -> type[Spec] | None:
        """The model of field *step* where other fields of *value* decide it."""
        known = step == "published" and isinstance(value, Mapping)
        return model_for(value.get("kind")) if known else None

    @field_validator("outputs")
    @classmethod
    def _names_columns(cls, outputs: tuple[str, ...]) -> tuple[str, ...]:
        former = [name for name in outputs if name in _FORMER_OUTPUTS]
        if former:
            names = ", ".join(repr(name) for name in former)
            fields = dict.fromkeys(field for name in former for field in _FORMER_OUTPUTS[name])
            raise ValueError(f"{names}: no column of a point; write instead {'; '.join(fields)}")
        return outputs

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Study:
        if (self.serving is not None) != (self.kind == "kv_fetch"):
            raise ValueError("serving and kind: kv_fetch belong together; give both or neither")
        if bool(self.iterations) != (self.kind in OF_ITERATIONS):
            kinds = " or ".join(OF_ITERATIONS)
            raise ValueError(f"iterations and kind: {kinds} belong together; give both or neither")
        if self.nodes and self.kind not in ON_NODES:
            raise ValueError(f"nodes are for kind: {', '.join(ON_NODES)}; give node")
        if (self.pieces is not None) != (self.kind == "pieces"):
            raise ValueError("pieces and kind: pieces belong together; give both or neither")
        of_c3 = self.pool is not None or self.band is not None
        if self.kind not in ("c3", "keep_or_stream") and of_c3:
            raise ValueError("pool and band are for kind: c3 and keep_or_stream")
        if self.kind != "c3" and self.characterisation:
            raise ValueError("characterisation is for kind: c3")
        packaged = get_args(Kind)
        if (self.kind in OF_A_TABLE) != bool(self.table) and self.kind in packaged:
            raise ValueError("table and one of the kinds t3 and fused belong together")
        names = {scenario.name for scenario in self.scenarios}
        if self.band is not None:
            _check_names("band.skip", self.band.skip, names)
            for index, fact in enumerate(self.band.facts):
                _check_names(f"band.facts[{index}].scenarios", fact.scenarios, names)
        if self.kind not in WITH_POINTS and "outputs" in self.model_fields_set:
            raise ValueError(f"kind: {self.kind} has tables of its own; leave outputs out")
        return self

    @model_validator(mode="after")
    def _has_something_to_run(self) -> Study:
        if self.serving is not None or self.iterations:
            if self.workload is not None or any(s.workload is not None for s in self.scenarios):
                what = "iterations" if self.iterations else "serving"
                raise ValueError(f"a study of {what} has no workload; leave it out")
            return self
        if self.pieces is not None:
            if self.workload is not None or self.scenarios:
                raise ValueError("a study of pieces has neither workload nor scenarios")
            return self
        if self.table:
            if self.workload is not None or self.scenarios:
                raise ValueError("a study with a table has no workload and no scenarios")
            return self
        if (self.machines is not None) != (self.kind == "cache_policies"):
            raise ValueError("machines and kind: cache_policies belong together")
        if self.machines is not None:
            if not self.applications:
                raise ValueError("nothing to run: give applications")
            return self
        if self.workload is None and any(s.workload is None for s in self.scenarios):
            raise ValueError("each scenario needs a workload, or the study a default one")
        if self.workload is None and not self.scenarios:
            raise ValueError("nothing to run: give scenarios, or a workload and axes")
        return self
