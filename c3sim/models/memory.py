"""Memory under load: what compute units demand of it, and how much of that it gives.

A CU keeps a bounded number of requests in flight, so it slows as latency rises with load, well
before the stacks are saturated. With x the load demanded in all, as a share of what memory can
give, every CU gets the share

    S(x) = (1 + x^p)^(-1/p)

of what it demands; the total S(x) x is the soft minimum of load and capacity. p is fitted to the
isolated local copy against CUs (suite transferbench_cu_scaling, column GPU00): one number describes
1 to 304 CUs.
"""

from __future__ import annotations

from collections.abc import Callable

from c3sim.models.roots import last_within
from c3sim.spec.hardware import Gpu

#: Least share of memory that is left to compute units; it keeps their load finite.
LEFT = 0.05
#: No load leaves less than this, so that what is asked for at it is a number.
LEAST_SHARE = 1e-6


def memory_given(gpu: Gpu, write_share: float, row_misses: float = 0.0) -> float:
    """Bandwidth [B/s] of the stacks when *write_share* of the bytes are writes: the data sheet peak
    times an efficiency between that of pure reads (or writes) and that of an even mix.
    *row_misses*: part of the writes that hit no open row, beyond what that efficiency has of them;
    each closes the row of another access, which misses as well.
    """
    mixed = 2 * (write_share if write_share < 0.5 else 1 - write_share)
    hbm = gpu.hbm
    usual = hbm.bandwidth * (
        hbm.read_efficiency + (hbm.mixed_efficiency - hbm.read_efficiency) * mixed
    )
    if not row_misses or not write_share or gpu.cache_policies is None:
        return usual
    part = min(1.0, 2.0 * write_share * row_misses)
    scattered = min(usual, hbm.bandwidth * gpu.cache_policies.scattered_writes)
    return 1.0 / ((1.0 - part) / usual + part / scattered)


def lost_on_lines(gpu: Gpu, write_share: float, row_misses: float, stalls: float) -> float:
    """Bandwidth that memory loses for each byte of a kernel: on the part *row_misses* of it that
    hits no open row, and in the part *stalls* of the time in which misses wait for lines.
    """
    if gpu.cache_policies is None or not (row_misses or stalls):
        return 0.0
    usual = memory_given(gpu, write_share)
    scattered = min(usual, gpu.hbm.bandwidth * gpu.cache_policies.scattered_writes)
    return (1.0 - row_misses + row_misses * usual / scattered) / (1.0 - stalls) - 1.0


def load_behind(load: float, first: float) -> float:
    """Load that compute units feel of *load*, of which *first* is served before theirs: they share
    what that leaves. (Of two classes in one queue the second waits 1 / (1 - first) times as long as
    it would without an order: Cobham, Priority Assignment in Waiting Line Problems, 1954.)
    """
    left = 1.0 - first
    return load / (left if left > LEFT else LEFT)


def served_share(demanded: float, saturation_exponent: float) -> float:
    """S(x) of the module docstring, *demanded* = x >= 0. Where x^p is beyond all floats, the 1
    beside it is nothing: S(x) = 1 / x, the hard minimum.
    """
    try:
        share: float = (1.0 + demanded**saturation_exponent) ** (-1.0 / saturation_exponent)
    except OverflowError:
        return 1.0 / demanded
    return share


def share_beside(demanded: float, own: float, saturation_exponent: float) -> float:
    """S(x) / S(o): what a task keeps of its speed alone, with *demanded* = x > *own* = o >= 0."""
    p = saturation_exponent
    try:
        return float(((1.0 + demanded**p) / (1.0 + own**p)) ** (-1.0 / p))
    except OverflowError:
        return served_share(demanded, p) / served_share(own, p)


def felt_beside_posts(
    steady: Callable[[float], float],
    posted: Callable[[float], float],
    exponent: float,
    least: float,
) -> float:
    """S of a load whose part is posted: *posted(s)*, what that carries where loads get the share s
    of what they ask for, does not fall with s as loads do. *steady(x)*: load in all with x of
    kernels whose rates do. *least*: share that loads keep however much is posted
    (``port.loads_beside_stores``).

    Memory is as full as what it carries makes it, whoever waits for it: a kernel that carries c
    slows others as one that asks for c / s.
    """
    most = demanded_at(least, exponent)

    def over(share: float) -> float:
        return share * (steady(min(most, posted(share) / share)) - demanded_at(share, exponent))

    return last_within(over, LEAST_SHARE, 1.0)


def load_of(
    asked: float,
    freely: Callable[[float], float],
    reached: Callable[[float], float],
    saturation_exponent: float,
) -> float:
    """Load on memory of one task: *asked*, what it demands at full speed, unless that would let it
    gain by being slow. *reached(s)*: the load that it carries, growing, when it gets the share s of
    memory; *freely(s)*: the same if links and matrix units were no limit.

    A task that they hold up has no more than it would have without them. With X = freely(1)

        reached(S(x)) <= freely(S(X))

    and x is *asked*, or the least load above it of which that holds.
    """
    least = served_share(freely(1.0), saturation_exponent)
    share, most = served_share(asked, saturation_exponent), freely(least)
    if reached(share) <= most or reached(least) > most:
        return asked
    held = last_within(lambda kept: reached(kept) - most, least, share)
    return demanded_at(held, saturation_exponent)


def demanded_at(share: float, saturation_exponent: float) -> float:
    """The demand x of which memory serves the *share* S(x) > 0."""
    return float(max(0.0, share**-saturation_exponent - 1.0) ** (1.0 / saturation_exponent))
