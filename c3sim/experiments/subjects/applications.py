"""Applications as kernels of known accesses: bytes, how often again, and after how many others; and
the machines that a study of cache policies runs them on, at one place of what is guessed of them.

fp32 or fp64 elements of E bytes. A workgroup has a tile of a product, a row of a softmax, a channel
of a batch norm (MIOpen's single-workgroup kernel), or 256 elements of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, sqrt
from typing import NamedTuple

from c3sim.errors import InputError
from c3sim.experiments.bands import Parameter, settings_drawn
from c3sim.experiments.study import Row
from c3sim.simulation.simulate import simulate
from c3sim.spec.cache_policy import CachePolicy
from c3sim.spec.hardware import Dies, Node
from c3sim.spec.parts import L2
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.study import Application, PlainMachine, PolicyMachines
from c3sim.spec.task import Access, Kernel
from c3sim.spec.workload import Workload

ELEMENT = {"fp32": 4, "fp64": 8}
TILE = 128  # rows and columns of a tile of a product
SLICE = 32  # of K, in use at once
GROUP = 256  # elements of a workgroup
RESIDENT = 8  # workgroups on a compute unit


class Launch(NamedTuple):
    """One kernel: what it accesses, its FLOP, its workgroups."""

    accesses: tuple[Access, ...]
    flops: float
    workgroups: float


def workload_of(
    label: str, application: Application, cache: CachePolicy, efficiency: float
) -> Workload:
    """The launches of *application*, called *label*, in one stream; all have the policy *cache* and
    reach *efficiency* of the peak.
    """
    tasks = {
        f"launch{number}": Kernel(
            kind="kernel",
            stream="launches",
            accesses=launch.accesses,
            flops=launch.flops,
            workgroups=max(1, round(launch.workgroups)),
            dtype=application.dtype,
            on="matrix",
            efficiency=efficiency,
            per_unit=RESIDENT,
            cache=cache,
        )
        for number, launch in enumerate(launches_of(application))
    }
    return Workload.model_validate({"schema": 1, "name": label, "node": "", "tasks": tasks})


def launches_of(application: Application) -> tuple[Launch, ...]:
    """The launches of *application*, one after the other."""
    shape, element = application.shape, ELEMENT[application.dtype]
    try:
        return _KINDS[application.kind](shape, element, application.backward)
    except KeyError as error:
        message = f"the shape of {application.kind} lacks {error}"
        raise InputError(message, "applications") from None


def _gemm(s: Mapping[str, int], element: int, _backward: bool) -> tuple[Launch, ...]:
    return (product(s["m"], s["n"], s["k"], element),)


def product(m: int, n: int, k: int, element: int) -> Launch:
    """C = A B by tiles: rows of A are loaded for each column of tiles, and the other way round; all
    tiles walk K in step, a slice at a time.
    """
    rows, columns = max(1.0, m / TILE), max(1.0, n / TILE)
    slice_bytes = float((m + n) * SLICE * element)
    return Launch(
        (
            Access(bytes=m * k * element, again=columns - 1, far=slice_bytes),
            Access(bytes=k * n * element, again=rows - 1, far=slice_bytes),
            Access(bytes=m * n * element, stores=True),
        ),
        2.0 * m * n * k,
        rows * columns,
    )


def _images(s: Mapping[str, int], element: int) -> tuple[float, float]:
    """Elements, and their bytes."""
    elements = float(s["n"] * s["c"] * s["h"] * s["w"])
    return elements, elements * element


def _activation(s: Mapping[str, int], element: int, backward: bool) -> tuple[Launch, ...]:
    """Backward reads the output and both gradients' worth: x, y, dy."""
    elements, size = _images(s, element)
    loads = tuple(Access(bytes=size) for _ in range(3 if backward else 1))
    return (Launch((*loads, Access(bytes=size, stores=True)), 2 * elements, elements / GROUP),)


def _pooling(s: Mapping[str, int], element: int, backward: bool) -> tuple[Launch, ...]:
    """Windows overlap: (window / stride)^2 of them have an element. Backward gathers: an element of
    dx looks into each of its windows, at their y and dy, and at all of x once.
    """
    elements, size = _images(s, element)
    often = max(1.0, (s["window"] / s["stride"]) ** 2)
    pooled = size / s["stride"] ** 2
    rows = float(s["window"] * s["w"] * element)
    workgroups = elements / GROUP
    if not backward:
        accesses = (
            Access(bytes=size, again=often - 1, near=rows),
            Access(bytes=pooled, stores=True),
        )
        return (Launch(accesses, s["window"] ** 2 * elements / s["stride"] ** 2, workgroups),)
    looked = often * s["stride"] ** 2  # times an element of y is looked at
    looks = tuple(Access(bytes=pooled, again=looked - 1, near=rows) for _ in range(2))
    all_accesses = (Access(bytes=size), *looks, Access(bytes=size, stores=True))
    return (Launch(all_accesses, 2 * often * elements, workgroups),)


def _batch_norm(s: Mapping[str, int], element: int, backward: bool) -> tuple[Launch, ...]:
    """A channel's sums first, then all of it again; backward of x and dy."""
    elements, size = _images(s, element)
    channel = size / s["c"]
    arrays = 2 if backward else 1
    loads = tuple(Access(bytes=size, again=1.0, near=arrays * channel) for _ in range(arrays))
    flops = (8 if backward else 5) * elements
    return (Launch((*loads, Access(bytes=size, stores=True)), flops, float(s["c"])),)


def _softmax(s: Mapping[str, int], element: int, backward: bool) -> tuple[Launch, ...]:
    """Forward goes over a row for its maximum, sum, result; backward twice over y and dy."""
    elements, size = _images(s, element)
    row = float(s["c"] * element)
    arrays, again = (2, 1.0) if backward else (1, 2.0)
    loads = tuple(Access(bytes=size, again=again, near=arrays * row) for _ in range(arrays))
    stored = Access(bytes=size, stores=True)
    return (Launch((*loads, stored), 10 * elements, float(s["n"])),)


def _lrn(s: Mapping[str, int], element: int, _backward: bool) -> tuple[Launch, ...]:
    """A window over channels for each element, kept in registers as it slides; stores the result,
    and the scale for backward.
    """
    elements, size = _images(s, element)
    window = float(s["window"] * GROUP * element)
    loads = Access(bytes=size, again=1.0, near=window)  # the entering and the leaving element
    stored = Access(bytes=2 * size, stores=True)
    return (Launch((loads, stored), 6 * elements, elements / s["c"] / GROUP),)


def _fully_connected(s: Mapping[str, int], element: int, _backward: bool) -> tuple[Launch, ...]:
    return (product(s["hidden"], s["n"], s["c"], element),)


def _composed(s: Mapping[str, int], element: int, _backward: bool) -> tuple[Launch, ...]:
    """Convolution as a product of what its windows see, pooling, a fully connected layer."""
    pixels = s["n"] * s["h"] * s["w"]
    taps = s["c"] * s["window"] ** 2
    pooled = s["c"] * (s["h"] // s["stride"]) * (s["w"] // s["stride"])
    return (
        product(s["c"], pixels, taps, element),
        *_pooling(s, element, False),
        product(s["hidden"], s["n"], pooled, element),
    )


def _recurrent(
    gates: int, s: Mapping[str, int], element: int, backward: bool
) -> tuple[Launch, ...]:
    """Weights of the gates, of input and state, go over the batch in every step. Backward goes over
    them once more, and adds to their gradients in every step.
    """
    weights = float(2 * gates * s["hidden"] ** 2 * element)
    state = float(gates * s["hidden"] * s["batch"] * element)
    steps = s["steps"]
    held = weights * (2 if backward else 1)
    accesses = [
        Access(bytes=weights, again=steps - 1.0, far=held),
        Access(bytes=state * steps, again=1.0, far=state),
        Access(bytes=state * steps, stores=True),
    ]
    if backward:
        accesses.append(Access(bytes=weights, again=steps - 1.0, far=held))
        accesses.append(Access(bytes=weights, again=steps - 1.0, far=held, stores=True))
    flops = 2.0 * weights / element * s["batch"] * steps * (2 if backward else 1)
    return (Launch(tuple(accesses), flops, max(1.0, gates * s["hidden"] / TILE)),)


def _gru(s: Mapping[str, int], element: int, backward: bool) -> tuple[Launch, ...]:
    return _recurrent(3, s, element, backward)


def _lstm(s: Mapping[str, int], element: int, backward: bool) -> tuple[Launch, ...]:
    return _recurrent(4, s, element, backward)


_KINDS: Mapping[str, Callable[[Mapping[str, int], int, bool], tuple[Launch, ...]]] = {
    "gemm": _gemm,
    "composed": _composed,
    "activation": _activation,
    "pooling": _pooling,
    "batch_norm": _batch_norm,
    "softmax": _softmax,
    "lrn": _lrn,
    "fully_connected": _fully_connected,
    "gru": _gru,
    "lstm": _lstm,
}


PUBLISHED = "apu"
HARD = 64.0  # exponent of what units ask for and what memory gives: no loss below that
Guesses = Mapping[str, float]


def guesses(machines: PolicyMachines) -> tuple[dict[str, float], list[dict[str, float]]]:
    """The guesses: the geometric middle of each interval, and the draws."""
    intervals = machines.guesses.items()
    middle: dict[str, float] = {name: sqrt(low * high) for name, (low, high) in intervals}
    as_known = partial(Parameter, unit="", whole=False, fitted=False)
    parameters = [
        as_known(path=name, value=middle[name], low=low, high=high)
        for name, (low, high) in intervals
    ]
    drawn = settings_drawn(parameters, machines.draws, machines.seed)
    return middle, [{path: float(value) for path, value in each} for each in drawn]


class Machines:
    """Every machine of a study by name. Raises InputError: a node whose file has no policies."""

    def __init__(self, machines: PolicyMachines, base: str):
        """*base*: the node whose file says what is not published of the published machine."""
        self._published, self._base = machines.published, load_hardware(base).node
        self._nodes = {name: load_hardware(name).node for name in machines.nodes}
        for name, node in {**self._nodes, base: self._base}.items():
            if node.gpu.cache_policies is None:
                raise InputError(f"{name} gives no gpu.cache_policies", "machines.nodes")

    @property
    def names(self) -> Sequence[str]:
        return (PUBLISHED, *self._nodes)

    def node(self, name: str, guess: Guesses) -> Node:
        if name == PUBLISHED:
            return _node_of(self._published, self._base, guess)
        return self._nodes[name]


def _node_of(machine: PlainMachine, base: Node, guess: Guesses) -> Node:
    """One GPU as published; its kernels begin and end at once, and no power limit binds."""
    gpu, memory, clock = base.gpu, machine.memory, machine.clock
    assert gpu.cache_policies is not None  # held by Machines
    per_unit = memory / machine.compute_units / clock
    units = {
        "flops_per_cycle": machine.flops_per_cycle,
        "read_bandwidth": guess["asked"] * per_unit,
        "l2_bandwidth": guess["l2_rate"] * per_unit,
    }
    of_memory = {"bandwidth": memory, "latency": guess["latency"]}
    whole = {"read_efficiency": 1.0, "mixed_efficiency": 1.0, "saturation_exponent": HARD}
    policies = {
        "l1_capacity": machine.l1,
        "line": machine.line,
        "ways": machine.ways,
        "scattered_writes": guess["scattered"],
        "l1_ways": guess["l1_ways"],
        "row_lines": guess["row_lines"],
        "evicted_together": guess["together"],
    }
    at_once = {"dispatch_latency": 0.0, "completion_latency": 0.0, "back_to_back_latency": 0.0}
    parts = {
        "name": PUBLISHED,
        "dies": Dies(count=1, shader_engines=(machine.compute_units,), dispatch="rotation"),
        "compute_units": gpu.compute_units.model_copy(update=units),
        "l2": L2(capacity=machine.l2, bandwidth=guess["l2_rate"] * memory / clock),
        "memory_side_cache": None,
        "hbm": gpu.hbm.model_copy(update={**of_memory, **whole}),
        "cache_policies": gpu.cache_policies.model_copy(update=policies),
        "clock": gpu.clock.model_copy(update={"maximum": clock, "power_limit": inf}),
        "kernels": gpu.kernels.model_copy(update=at_once),
    }
    one = {"name": PUBLISHED, "gpus": 1, "gpu": gpu.model_copy(update=parts)}
    return base.model_copy(update=one)


MARGIN = 0.05


_CACHED = CachePolicy(l1="allocate")


#: How every kernel loads and stores, and the switch of ``gpu.cache_policies`` that is on.
POLICIES = {
    "uncached": (CachePolicy(l1="bypass", l2="bypass", stores="uncached"), ""),
    "cache_r": (CachePolicy(l1="allocate", stores="uncached"), ""),
    "cache_rw": (_CACHED, ""),
    **{
        switch: (_CACHED, switch)
        for switch in ("allocation_bypass", "rinsing", "reuse_predictor", "adaptive")
    },
}


STATIC = ("uncached", "cache_r", "cache_rw")


def _switched(node: Node, switch: str) -> Node:
    """*node* with one *switch* of its cache policies on; empty: as it is."""
    if not switch:
        return node
    policies = node.gpu.cache_policies
    assert policies is not None  # asked before
    gpu = node.gpu.model_copy(update={"cache_policies": policies.model_copy(update={switch: True})})
    return node.model_copy(update={"gpu": gpu})


def class_of(times: Mapping[str, float]) -> str:
    """The class of an application by its *times* [s] under the static policies."""
    cached = [times[policy] / times["uncached"] for policy in STATIC[1:]]
    if min(cached) < 1.0 - MARGIN:
        return "reuse"
    return "throughput" if max(cached) > 1.0 + MARGIN else "insensitive"


def row_of(label: str, application: Application, node: Node, efficiency: float) -> tuple[Row, Row]:
    """Times under every policy, and what decides: the part of the time that caching saves (the best
    static policy over uncached), that rows cost and waiting for lines costs (all cached, over
    rinsing and over allocation bypass); where all is cached the part of the misses that wait, and
    of the written bytes that hit their row.
    """
    times = {}
    for policy, (cache, switch) in POLICIES.items():
        workload = workload_of(label, application, cache, efficiency)
        run = simulate(_switched(node, switch), workload, energy=True)
        times[policy] = run.end
        if policy == "cache_rw":
            counts = run.lines.values()
            written = sum(count.written_bytes for count in counts)
            hits = sum(count.row_hits * count.written_bytes for count in counts)
            stalls = max(count.stalls for count in counts)
    cached = times["cache_rw"]
    why = Row(
        reuse=1.0 - min(times[policy] for policy in STATIC) / times["uncached"],
        rows=1.0 - times["rinsing"] / cached,
        waiting=1.0 - times["allocation_bypass"] / cached,
        stalls=stalls,
        row_hits=hits / written if written else 1.0,
    )
    name = Row(node=node.name, application=label)
    return Row(name, **{"class": class_of(times)}, times_s=times), Row(name, **why)
