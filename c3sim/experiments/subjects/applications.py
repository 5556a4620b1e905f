"""Applications as kernels that caches serve, and the machines that a study of cache policies runs
them on, at one place of what is guessed of them.

What caches serve under a policy is counted by the cache laboratory, line by line
(c3sim/cachelab). An application is one kernel with these bytes and the FLOP of all its launches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf, sqrt
from statistics import fmean
from typing import Any

from c3sim.errors import InputError
from c3sim.experiments.bands import Parameter, settings_drawn
from c3sim.experiments.study import Row
from c3sim.experiments.subjects.served import Result, result
from c3sim.simulation.simulate import simulate
from c3sim.spec.cache_policy import CachePolicy
from c3sim.spec.hardware import Dies, Node
from c3sim.spec.parts import L2
from c3sim.spec.reading.loading import load_node
from c3sim.spec.study import Application, PlainMachine, PolicyMachines
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Workload

RESIDENT = 8  # workgroups on a compute unit


def kernel_of(application: Application, found: Sequence[Result], efficiency: float) -> Kernel:
    """*application* as one kernel, which reaches *efficiency* of the peak; *found*: for the shares
    of the last shared cache, the least first.
    """
    return Kernel(
        kind="kernel",
        served=tuple(each.served for each in found),
        flops=found[-1].flops,
        workgroups=max(1, found[-1].workgroups),
        dtype=application.dtype,
        on="matrix",
        efficiency=efficiency,
        per_unit=RESIDENT,
        cache=CachePolicy(l1="allocate"),
    )


def workload_of(label: str, kernel: Kernel) -> Workload:
    """*kernel* alone, called *label*."""
    tasks = {"kernel": kernel}
    return Workload.model_validate({"schema": 1, "name": label, "node": "", "tasks": tasks})


PUBLISHED = "apu"
HARD = 64.0  # exponent of what units ask for and what memory gives: no loss below that
Guesses = Mapping[str, float]


def guesses(machines: PolicyMachines) -> tuple[dict[str, float], list[dict[str, float]]]:
    """The guesses: the geometric middle of each interval, and the draws. Lines are followed at the
    middle alone.
    """
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

    def __init__(self, machines: PolicyMachines, base: str, given: Node | None = None):
        """*base*: the node whose file says what is not published of the published machine; *given*:
        the only machine.
        """
        self._published, self._base = machines.published, load_node(base)
        self._nodes = {name: load_node(name) for name in machines.nodes}
        self._given = given
        if given is not None:
            self._nodes = {given.name: given}
        for name, node in {**self._nodes, base: self._base}.items():
            if node.gpu.cache_policies is None:
                raise InputError(f"{name} gives no gpu.cache_policies", "machines.nodes")

    @property
    def names(self) -> Sequence[str]:
        return (*((PUBLISHED,) if self._given is None else ()), *self._nodes)

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
    }
    at_once = {"dispatch_latency": 0.0, "completion_latency": 0.0, "back_to_back_latency": 0.0}
    parts = {
        "name": PUBLISHED,
        "dies": Dies(count=1, shader_engines=(machine.compute_units,), dispatch="rotation"),
        "compute_units": gpu.compute_units.changed(**units),
        "l2": L2(capacity=machine.l2, bandwidth=guess["l2_rate"] * memory / clock),
        "memory_side_cache": None,
        "hbm": gpu.hbm.changed(**of_memory, **whole),
        "cache_policies": gpu.cache_policies.changed(**policies),
        "clock": gpu.clock.changed(maximum=clock, power_limit=inf),
        "kernels": gpu.kernels.changed(**at_once),
    }
    one = {"name": PUBLISHED, "gpus": 1, "gpu": gpu.changed(**parts)}
    return base.changed(**one)


MARGIN = 0.05


#: Policies of the laboratory that the study compares.
POLICIES = (
    *("uncached", "cache_r", "cache_rw"),
    *("allocation_bypass", "rinsing", "reuse_predictor", "adaptive"),
)


STATIC = ("uncached", "cache_r", "cache_rw")


def class_of(times: Mapping[str, float]) -> str:
    """The class of an application by its *times* [s] under the static policies."""
    cached = [times[policy] / times["uncached"] for policy in STATIC[1:]]
    if min(cached) < 1.0 - MARGIN:
        return "reuse"
    return "throughput" if max(cached) > 1.0 + MARGIN else "insensitive"


def of_adaptive(rows: Sequence[Row]) -> list[float]:
    """Time of each application under all optimisations together over that under the static policy
    that is best for it, less 1: what it loses; below 0 it gains.
    """
    return [row.times_s["adaptive"] / row.times_s[best_of(row)] - 1.0 for row in rows]


def best_of(row: Row) -> str:
    """The static policy under which an application is quickest."""
    return min(STATIC, key=lambda policy: float(row.times_s[policy]))


def held(rows: Sequence[Row], published: Mapping[str, Any]) -> dict[str, float]:
    """The claims that hold of *rows*: 1 or 0; of published classes the part of their members."""
    found = {row.application: row["class"] for row in rows}
    best = [
        all(row.times_s[policy] <= 1.01 * min(row.times_s[p] for p in STATIC) for row in rows)
        for policy in STATIC
    ]
    return {
        "three_classes": float(len(set(found.values())) == 3),
        "no_static_policy_best_everywhere": float(not any(best)),
        "adaptive_matches_best_static": float(
            max(of_adaptive(rows)) <= published.get("worst_loss", MARGIN)
        ),
        **{
            f"{name}_as_published": fmean(float(found.get(each) == name) for each in members)
            for name, members in published.get("classes", {}).items()
            if members
        },
    }


def row_of(
    label: str, application: Application, node: Node, structure: Guesses, efficiency: float
) -> tuple[Row, Row]:
    """Times under every policy, and what decides: the part of the time that caching saves (the best
    static policy over uncached), that rows cost and waiting for lines costs (all cached, over
    rinsing and over allocation bypass); where all is cached the part of the loads that L1 and L2
    serve, of the lines that miss their row, and of the time that memory is idle for lines.
    """
    times = {}
    streams_known = node.name != PUBLISHED
    for policy in POLICIES:
        found = result(application, node, structure, policy, streams_known=streams_known)
        workload = workload_of(label, kernel_of(application, [found], efficiency))
        times[policy] = simulate(node, workload).end
        if policy == "cache_rw":
            kept = found.served
    cached = times["cache_rw"]
    every = kept.l1 + kept.l2 + kept.cache + kept.read + kept.written
    why = Row(
        reuse=1.0 - min(times[policy] for policy in STATIC) / times["uncached"],
        rows=1.0 - times["rinsing"] / cached,
        waiting=1.0 - times["allocation_bypass"] / cached,
        stalls=kept.stalls,
        row_misses=kept.row_misses,
        found=(kept.l1 + kept.l2) / every if every else 0.0,
    )
    name = Row(node=node.name, application=label)
    return Row(name, **{"class": class_of(times)}, times_s=times), Row(name, **why)


SHARES = (0.25, 0.5, 1.0)  # of the last shared cache, of which there are counts
BESIDE = 40e9  # B/s of a GPU that the collective beside would get in the kernel's time
HOW = ("stream", "bypass")  # of the collective's lines in the last cache


def beside(label: str, application: Application, node: Node, efficiency: float) -> Row:
    """Gain of an application, all cached, beside an all-gather on compute units and on engines,
    where the lines of that leave first (*stream*) or pass the last cache (*bypass*): part of its
    own time, and of both.
    """
    counts = [result(application, node, {}, "cache_rw", share=share) for share in SHARES]
    kernel = kernel_of(application, counts, efficiency)
    alone = simulate(node, workload_of(label, kernel)).end
    size = max(1.0, round(alone * BESIDE / 2**20)) * 2**20 * node.gpus
    last = "memory_side" if node.gpu.memory_side_cache else "l2"
    found: dict[str, float] = {}
    for backend in (next(iter(node.collective_libraries)), "dma"):
        ends = {}
        for how in (None, *HOW):
            gather = {"kind": "collective", "op": "all_gather", "size": size, "backend": backend}
            tasks = {"kernel": kernel, "gather": gather | ({"cache": {last: how}} if how else {})}
            both = {"schema": 1, "name": label, "node": "", "tasks": tasks}
            run = simulate(node, Workload.model_validate(both))
            ends[how] = run.task("kernel").end, run.end
        for how in HOW:
            for which, (before, after) in enumerate(zip(ends[None], ends[how], strict=True)):
                found[f"{backend} {how} {('kernel', 'both')[which]}"] = 1.0 - after / before
    return Row(node=node.name, application=label, gains=found)
