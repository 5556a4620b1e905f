"""A GEMM by lines, as its library plans it: tiles, slices of K, order of tiles, clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

from c3sim.cachelab.machine import Machine
from c3sim.cachelab.nests import Program, product
from c3sim.cachelab.stream import Launch, Memory
from c3sim.errors import InputError
from c3sim.spec.task import Served

SHARES = (0.25, 0.5, 1.0)  # of the last shared cache
MOST = 750_000  # lines that a sample follows
FOLLOWED = 3  # groups of rows of tiles
ONCE = 0.01  # of operands and results


class Tiled(NamedTuple):
    """C[m, n] = A[m, k] B[n, k]^T, *times* times: what a library plans of it."""

    m: int
    n: int
    k: int
    element: int  # bytes of a number of A and B
    result: int  # of C
    times: int  # products of a batch, parts of K
    tile: tuple[int, int]  # rows, columns
    part: int  # of K, between two waits
    group: int  # rows of tiles dealt out together
    cluster: tuple[int, int]  # rows, columns of tiles that read what they share once
    residents: int  # workgroups of a unit


def program_of_tiles(tiled: Tiled) -> Program:
    """A workgroup for each cluster of tiles, group by group of rows of tiles. Where there are many
    groups, the second one stands for all that follow it.
    """
    memory, (m, n, k), element = Memory(), tiled[:3], tiled.element
    sizes = m * k * element, n * k * element, m * n * tiled.result
    a, b, c = (memory.place(size) for size in sizes)
    high, wide = (one * of for one, of in zip(tiled.tile, tiled.cluster, strict=True))
    group = max(1, round(tiled.group / tiled.cluster[0]))

    def launch(first: int, rows: int) -> Launch:
        bases = (a + first * k * element, b, c + first * n * tiled.result)
        return product(
            rows, n, k, element, result=tiled.result, bases=bases, b_rows=False,
            tile=(high, wide), part=tiled.part, group=group,
        )  # fmt: skip

    rows = group * high
    if m <= FOLLOWED * rows:
        return Program((launch(0, m),), (float(tiled.times),))
    weights = tiled.times, tiled.times * (m - rows) / rows
    return Program((launch(0, rows), launch(rows, rows)), weights)


def machine_for(tiled: Tiled, machine: Machine) -> Machine:
    """*machine* with the workgroups of *tiled* on a unit; a cluster's units are one."""
    size = tiled.cluster[0] * tiled.cluster[1]
    under_way = machine.window * machine.residents
    return replace(
        machine,
        units=machine.units // size,
        residents=tiled.residents,
        window=max(1, under_way * size // tiled.residents),
        flops=machine.flops * size,
    )


def served_gemm(
    tiled: Tiled, machine: Machine, policy: str, shares: Sequence[float] = SHARES, *, alike: bool
) -> tuple[Served, ...]:
    """Bytes of *tiled* that caches serve under *policy*, by each of *shares* of the last shared
    cache. Raises InputError: its products are not *alike* in rows; numba is not installed, without
    which that takes minutes.
    """
    if not alike:
        raise InputError("the cache laboratory follows products of equal rows", "lines")
    if find_spec("numba") is None:
        raise InputError("the cache laboratory needs numba: pip install 'c3sim[fast]'", "lines")
    from c3sim.cachelab.served import with_share

    at = _RATES.get()
    if at is not None:
        machine = machine.paced_as(at)
    there, found = machine_for(tiled, machine), list[Served]()
    for share in sorted(shares):
        larger = with_share(there, share)
        if found and _once(tiled, found[-1]):  # so a larger cache finds no more
            found.append(found[-1].changed(held=larger.shared))
        else:
            found.append(_followed(tiled, larger, policy))
    return tuple(found)


def _once(tiled: Tiled, served: Served) -> bool:
    """True if memory moves operands and results of *tiled* no more than once, within ONCE."""
    m, n, k, element, result, times = tiled[:6]
    moved = served.read + served.written
    return moved <= (1.0 + ONCE) * times * ((m + n) * k * element + m * n * result)


@lru_cache(maxsize=1024)
def _followed(tiled: Tiled, machine: Machine, policy: str) -> Served:
    """Bytes of *tiled* that the caches of *machine* serve. Its rows of memory are not asked for, so
    that of many lines one lap of several is enough, where none go through L1.
    """
    from c3sim.cachelab.laboratory import POLICIES, SAMPLES, Laboratory, laps_for
    from c3sim.cachelab.served import source_of
    from c3sim.cachelab.state import L1

    program = program_of_tiles(tiled)
    laps = 1 if POLICIES[policy] & L1 else laps_for(program, machine, MOST)
    laboratory = Laboratory(program, machine, most=MOST, samples=SAMPLES, laps=laps)
    counts = laboratory.counts(policy)
    return Served(
        held=machine.shared,
        l2=counts.l1 + counts.l2 + counts.joined,
        cache=counts.cache,
        read=counts.read,
        written=counts.written + counts.left,
        inserted=counts.inserted,
        source=source_of(counts, machine, policy),
    )


#: Whose rates order the lines of GEMMs; None: those of each GPU itself.
_RATES: ContextVar[Machine | None] = ContextVar("rates", default=None)


@contextmanager
def paced_by(machine: Machine | None) -> Iterator[None]:
    """Within it the lines of GEMMs are followed at the rates of *machine*: what draws of rates
    move, caches hardly serve otherwise.
    """
    token = _RATES.set(machine)
    try:
        yield
    finally:
        _RATES.reset(token)
