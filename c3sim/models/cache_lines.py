"""Counts of lines that the fluid layer does not follow: which misses wait, which write-backs hit
the row of DRAM that is open. Switches of a GPU (``gpu.cache_policies``) act here.

    allocation bypass   no miss waits for a line                        (:func:`stall_rule`)
    rinsing             all write-backs of a row leave together         (:func:`row_misses`)
    reuse predictor     what is not found again takes no line           (models/insertion.py)
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp

from c3sim.specs.cache_policy import CachePolicies
from c3sim.specs.hardware import Gpu

#: A part of the misses below this one is none: a run without stalls stays the same to the last bit.
LEAST_STALL = 1e-6


def pending_lines(rate: float, latency: float, line: float) -> float:
    """Lines that wait for memory at *rate* B/s (Little's law)."""
    return rate * latency / line


def stalled(pending: float, sets: float, ways: float) -> float:
    """Part of the misses that find every way of their set *pending*.

    Lines fall on sets as they come, so a set has a Poisson number of them, and the tail from
    *ways* on waits. 0 <= result <= 1.
    """
    mean = pending / sets
    if mean > 700.0:  # exp(-mean) is 0 in floats
        return 1.0 if mean >= ways else 0.0
    term, below = exp(-mean), 0.0
    for count in range(int(ways)):
        below += term
        term *= mean / (count + 1)
    return min(1.0, max(0.0, 1.0 - below))


def allocation_stall(gpu: Gpu, policies: CachePolicies, rate: float, set_aside: bool) -> float:
    """Part of the misses at *rate* B/s that wait for a line of the last shared cache: fewer ways
    are left for them where lines are set aside.
    """
    lines = gpu.shared_cache / policies.line
    ways = policies.ways * (1.0 - policies.protected_share * set_aside)
    pending = pending_lines(rate, gpu.hbm.latency, policies.line)
    return min(0.99, stalled(pending, lines / policies.ways, ways))


def stall_rule(gpu: Gpu, set_aside: bool) -> Callable[[float], float] | None:
    """What :func:`allocation_stall` is at a rate; None where it is nothing at any rate that memory
    gives, or where misses go past the cache instead.
    """
    policies = gpu.cache_policies
    if policies is None or not policies.waits or not gpu.shared_cache:
        return None
    most = allocation_stall(gpu, policies, gpu.hbm.bandwidth, set_aside)
    if most < LEAST_STALL:
        return None
    return lambda rate: allocation_stall(gpu, policies, rate, set_aside)


def l1_stall(gpu: Gpu, part: float) -> float:
    """Part of the loads of a compute unit that wait for a line of its L1, of which *part* take one;
    the unit has under way what its rate to memory needs.
    """
    policies, units = gpu.cache_policies, gpu.compute_units
    if policies is None or policies.l1_ways is None or not policies.waits or not part:
        return 0.0
    rate = part * units.read_bandwidth * gpu.clock.maximum
    pending = pending_lines(rate, gpu.hbm.latency, policies.line)
    sets = policies.l1_capacity / policies.line / policies.l1_ways
    return part * min(0.99, stalled(pending, sets, policies.l1_ways))


def row_hits(lines_of_row: float, together: float) -> float:
    """Part of the lines written back that hit the row which the one before them opened: all but the
    first of *together* lines of a row that leave at once, at most *lines_of_row* of them.
    """
    return 1.0 - 1.0 / max(1.0, min(together, lines_of_row))


def row_misses(policies: CachePolicies | None, set_aside: bool) -> float:
    """Part of the cached stores whose line leaves without its row: beyond what memory's
    efficiencies have of them, and of lines that miss where they leave in order, row by row.

    With lines set aside each leaves by itself; rinsed, with all of its row.
    """
    if policies is None or policies.rinses:
        return 0.0
    if set_aside:
        return 1.0
    if policies.evicted_together is None or policies.row_lines is None:
        return 0.0
    in_order = row_hits(policies.row_lines, policies.row_lines)
    evicted = row_hits(policies.row_lines, policies.evicted_together)
    return (in_order - evicted) / in_order if in_order else 0.0
