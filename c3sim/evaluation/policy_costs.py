"""What a kernel costs alone under a cache policy, from what it accesses and counts of lines.

Past a level goes what that level does not find again (all or nothing by the distance between two
uses: the order of use evicts a line before it comes again). The kernel takes what the slowest of
arithmetic, L2, memory-side cache and DRAM takes. DRAM gives less

- where loads allocate and every way of a set is pending: fewer requests are in flight;
- where written lines leave in eviction order: fewer of them hit an open row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from c3sim.models.cache_policy import pending_lines, row_hits, stalled

RESIDENT = 8  # workgroups on a compute unit


@dataclass(frozen=True, slots=True)
class Access:
    """*bytes* of memory, each loaded (or stored) once and *again* more times.

    Between two uses a workgroup touches *near* bytes where it is the same workgroup; else all of
    them together touch *far* bytes.
    """

    bytes: float
    again: float = 0.0
    near: float | None = None
    far: float = 0.0
    stores: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel: what it accesses, its FLOP, its workgroups."""

    accesses: tuple[Access, ...]
    flops: float
    workgroups: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheMachine:
    """A GPU as a policy sees it: bytes, B/s, s. *memory*: what DRAM gives; *scattered*: what it
    gives to writes that hit no row; *asked*: requests in flight, of those that fill memory;
    *together* and *row_lines*: written lines of a row that leave at once in eviction order, and all
    of them.
    """

    compute_units: int
    flops: float
    l1: float
    l1_ways: float
    l2: float
    ways: float
    line: float
    l2_bandwidth: float
    memory: float
    scattered: float
    latency: float
    asked: float
    together: float
    row_lines: float
    memory_side: float = 0.0
    memory_side_bandwidth: float = 0.0


@dataclass(frozen=True, slots=True)
class Handling:
    """A policy: whether loads and stores are cached, and the optimisations on top of it."""

    loads: bool = True
    stores: bool = True
    bypasses: bool = False
    rinses: bool = False
    predicts: bool = False


POLICIES = {
    "uncached": Handling(loads=False, stores=False),
    "cache_r": Handling(stores=False),
    "cache_rw": Handling(),
    "allocation_bypass": Handling(bypasses=True),
    "rinsing": Handling(rinses=True),
    "reuse_predictor": Handling(predicts=True),
    "adaptive": Handling(bypasses=True, rinses=True, predicts=True),
}
STATIC = ("uncached", "cache_r", "cache_rw")


@dataclass(frozen=True, slots=True)
class Cost:
    """*time* [s] and what it is bound by; *stalls*: part of the misses that wait for a line;
    *row_hits*: part of the *write_backs* [B] that hit an open row.
    """

    time: float
    bound: str
    stalls: float
    row_hits: float
    write_backs: float


@dataclass(slots=True)
class _Moved:
    """Bytes by place: requested past L1, past L2, read from DRAM, written to it, of these left in
    eviction order; misses that allocate.
    """

    l2: float = 0.0
    past_l2: float = 0.0
    read: float = 0.0
    written: float = 0.0
    evicted: float = 0.0
    allocating: float = 0.0


def cost_of(launches: Sequence[Launch], machine: CacheMachine, how: Handling) -> Cost:
    """All *launches*, one after the other; what is bound is that of the longest."""
    costs = [_cost(launch, machine, how) for launch in launches]
    longest = max(costs, key=lambda cost: cost.time)
    written = sum(cost.write_backs for cost in costs)
    hits = sum(cost.row_hits * cost.write_backs for cost in costs)
    return Cost(
        time=sum(cost.time for cost in costs),
        bound=longest.bound,
        stalls=max(cost.stalls for cost in costs),
        row_hits=hits / written if written else 1.0,
        write_backs=written,
    )


def _cost(launch: Launch, machine: CacheMachine, how: Handling) -> Cost:
    moved = _Moved()
    units = min(1.0, launch.workgroups / machine.compute_units)
    for access in launch.accesses:
        _add(moved, access, launch, machine, how)
    stalls = _stalls(moved, machine, how)
    in_order = row_hits(machine.row_lines, machine.row_lines)
    evicted = row_hits(machine.row_lines, machine.together)
    missing = moved.evicted * max(0.0, in_order - evicted) / in_order if in_order else 0.0
    dram = moved.read + moved.written
    usual = (dram - missing) / machine.memory + missing / machine.scattered
    in_flight = (1.0 - stalls) * machine.asked * units * machine.memory
    times = {
        "arithmetic": launch.flops / (machine.flops * units),
        "L2": moved.l2 / machine.l2_bandwidth,
        "DRAM": dram / machine.memory,
        "rows": usual if missing else 0.0,
        "requests in flight": dram / in_flight if in_flight else 0.0,
    }
    if machine.memory_side:
        times["memory-side cache"] = moved.past_l2 / machine.memory_side_bandwidth
    bound = max(times, key=lambda name: times[name])
    hits = 1.0 - missing / moved.written if moved.written else 1.0
    return Cost(times[bound] + machine.latency, bound, stalls, hits, moved.written)


def _add(
    moved: _Moved, access: Access, launch: Launch, machine: CacheMachine, how: Handling
) -> None:
    """What *access* moves."""
    again = access.bytes * access.again
    cached = how.stores if access.stores else how.loads
    running = min(launch.workgroups, float(machine.compute_units * RESIDENT))
    far = access.far if access.near is None else access.near * running
    per_unit = max(1.0, running / machine.compute_units)
    in_l1 = cached and not access.stores and access.near is not None
    if in_l1 and access.near is not None and access.near * per_unit <= machine.l1:
        again = 0.0
    at_l2 = access.bytes + again
    if cached and far <= machine.l2:
        again = 0.0
    past_l2 = access.bytes + again
    moved.l2 += at_l2
    moved.past_l2 += past_l2
    useful = past_l2 < access.bytes * (1.0 + access.again)  # a cache finds some of it again
    allocates = cached and (useful or not how.predicts)
    if machine.memory_side and far <= machine.memory_side:
        again = 0.0
    from_dram = access.bytes + again
    if access.stores:
        moved.written += from_dram
        moved.evicted += from_dram if allocates and not how.rinses else 0.0
    else:
        moved.read += from_dram
        moved.allocating += past_l2 if allocates else 0.0


def _stalls(moved: _Moved, machine: CacheMachine, how: Handling) -> float:
    """Part of the misses that wait for a line of L1 or of L2; bypassed, none."""
    if how.bypasses or not moved.allocating:
        return 0.0
    part = moved.allocating / moved.past_l2
    pending = pending_lines(part * machine.asked * machine.memory, machine.latency, machine.line)
    of_unit = pending / machine.compute_units
    at_l1 = stalled(of_unit, machine.l1 / machine.line / machine.l1_ways, machine.l1_ways)
    at_l2 = stalled(pending, machine.l2 / machine.line / machine.ways, machine.ways)
    return part * max(at_l1, at_l2)
