"""The limit of a time: the number of the node that shortens it most when it is moved, and the
number that binds next.

Nothing is guessed from rates. A number is made STEP times as good (a bandwidth larger, a latency
smaller) and all is simulated again::

    s(X) = ln( T / T' ) / ln( STEP )        the part of a time T that follows X: 1, all of it
    bound by X      X with the largest s
    next            the largest s of another number, where X is STEP f times as good
    sets in at f    there s(X) has fallen to half; bisected up to MOST times

Numbers are first moved in groups (all of memory, all of the links, ...): a group that changes no
time has none that does, and one that changes it less than a number does has none that binds. Of
whole numbers (engines, links, channels) there is one more, or as many as STEP says if that is
more, and the part is ln( T / T' ) over the logarithm of their ratio. Shares and energies stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.limit_words import in_words
from c3sim.evaluation.shares import Each, Progress
from c3sim.spec.hardware import Node
from c3sim.spec.reading.paths import NO_WORKLOAD, get_value, paths_of, set_si, unit_of

STEP = 1.1  # how far a number is moved to see what follows it
MOST = 16.0  # times as good; what binds still is said to bind up to there
TURNS = 5  # of the bisection: the factor is known within MOST^(1/32), 9 %
LEAST = 0.02  # the least part of a time that is called bound
FEW = 3  # numbers of a group that are moved one by one at once
EQUAL = 0.02  # of the largest s: numbers this close bind together; the one named first is named

#: Units of numbers that are better when they are larger; times are better when they are shorter.
LARGER = frozenset({"B/s", "B/cycle", "Hz"})
#: Numbers without such a unit that are better when they are larger.
ALSO = ("capacity", "bytes_in_flight", "power_limit", "peak_power", "_flops")
#: No part of a machine that could be faster: what a kernel asks for, by its library's habit.
NEVER = ("gpu.hbm.capacity", "gpu.clock.minimum", "gpu.clock.power_window", "links.raw_bandwidth")

#: Whole numbers that are moved. A die is many numbers at once, and so are its compute units.
WHOLE = (
    *("gpu.dma_engines.*count", "gpu.dma_engines.per_peer", "links.per_peer"),
    "collective_libraries.*.channels.default.*",
)

Times = Mapping[str, float]
Of = Callable[[Node], Times]

#: Numbers that most long runs are bound by.
CHIEF = (
    *("gpu.compute_units.flops_per_cycle.bf16", "gpu.compute_units.read_bandwidth"),
    *("gpu.hbm.bandwidth", "gpu.gemm_libraries.*.operand_feed"),
    *("gpu.clock.maximum", "gpu.clock.power_limit", "gpu.clock.peak_power"),
    *("links.bandwidth", "scale_out.bandwidth", "collective_libraries.*.channels.bytes_per_cycle"),
    *("host.launch_time", "host_profiles.*.call_times.*", "host_profiles.*.launch_time"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """The limit of one time: *path*, the *part* of the time that follows it; *then*, the number
    that binds next, once *path* is *factor* times as good. Empty: no number alone; none that was
    looked for (*factor* None), or none up to MOST.
    """

    path: str
    part: float
    then: str = ""
    factor: float | None = None

    def __str__(self) -> str:
        if not self.path:
            return "bound by no single number of the node"
        meant = in_words(self.path)
        follows = f"{100 * self.part:.0f} % of it follows"
        said = f"bound by {self.path} ({meant + '; ' if meant else ''}{follows})"
        if self.factor is None:
            return said
        if self.factor >= MOST:
            return f"{said}, up to {MOST:.0f} times as good"
        return f"{said}; next {self.then or 'no single one'}, from {self.factor:.2g} times as good"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def limits(
    times: Of,
    node: Node,
    further: Container[str],
    progress: Progress | None = None,
    *,
    chief: bool = False,
    each: Each = map,
) -> dict[str, Limit]:
    """The limit of each of the *times* of *node*, and the next one of those in *further*; the
    workload stays as it is. *progress* hears of the simulations. *chief*: of few numbers, for what
    takes long; *each* goes through them.
    """
    search = _Search(times, progress, chief, each)
    names = [name for name, time in search.at(node).items() if time > 0]
    moved = search.moved(node, names)
    found = {}
    for name in names:
        path, part = _largest(moved, name)
        then, factor = search.next(node, path, name) if path and name in further else ("", None)
        found[name] = Limit(path=path, part=part, then=then, factor=factor)
    return found


def candidates(node: Node, chief: bool = False) -> list[str]:
    """Paths of the numbers that may bind, whole ones behind the others and the clock last: of equal
    ones the particular is named.
    *chief*: those alone that most is bound by.
    """
    paths = [path for path in paths_of(node, NO_WORKLOAD) if _may_bind(node, path)]
    if chief:
        paths = [path for path in paths if any(fnmatchcase(path, each) for each in CHIEF)]
    return sorted(paths, key=lambda path: (path.startswith("gpu.clock."), is_whole(path)))


def is_whole(path: str) -> bool:
    """True if *path* is of a whole number that is moved."""
    return any(fnmatchcase(path, each) for each in WHOLE)


def _may_bind(node: Node, path: str) -> bool:
    value = get_value(node, NO_WORKLOAD, path)
    if is_whole(path):
        return bool(value)
    if path in NEVER or not isinstance(value, float) or not value:
        return False
    return _is_larger(node, path) or unit_of(node, NO_WORKLOAD, path) == "s"


def _is_larger(node: Node, path: str) -> bool:
    of_rate = path.startswith("gpu.compute_units.flops_per_cycle.") or path.endswith(ALSO)
    return of_rate or unit_of(node, NO_WORKLOAD, path) in LARGER


def better(node: Node, paths: Sequence[str], factor: float) -> Node:
    """*node* with the numbers at *paths* so many times as good; those that cannot be stay."""
    for path in paths:
        value = get_value(node, NO_WORKLOAD, path)
        if is_whole(path):
            node = _more(node, path, max(value + 1, round(value * factor)))
            continue
        now = value * factor if _is_larger(node, path) else value / factor
        now = float(round(now)) if unit_of(node, NO_WORKLOAD, path) == "B" else now
        try:
            node, _ = set_si(node, NO_WORKLOAD, path, now)
        except InputError:  # beyond what the field may be
            continue
    return node


def _more(node: Node, path: str, count: int) -> Node:
    """*node* with *count* at *path*; channels up to what their library has at most, raised too."""
    try:
        if ".channels.default." in path:
            most = f"{path.split('.default.')[0]}.maximum"
            if get_value(node, NO_WORKLOAD, most) < count:
                node, _ = set_si(node, NO_WORKLOAD, most, count)
        return set_si(node, NO_WORKLOAD, path, count)[0]
    except InputError:
        return node


def _largest(moved: Mapping[str, Times], name: str, but: str = "") -> tuple[str, float]:
    """The number that most of the time *name* follows, and how much of it."""
    parts = {path: times.get(name, 0.0) for path, times in moved.items() if path != but}
    most = max(parts.values(), default=0.0)
    if most < LEAST:
        return "", 0.0
    return next((path, part) for path, part in parts.items() if part >= most * (1 - EQUAL))


class _Search:
    """Simulations of one search; *times* of a node are asked for once."""

    def __init__(self, times: Of, progress: Progress | None, chief: bool, each: Each) -> None:
        self._times, self._progress, self._chief, self._each = times, progress, chief, each
        self._known: dict[int, tuple[Node, Times]] = {}
        self._screened: dict[tuple[str, float], Mapping[str, Times]] = {}
        self._better: dict[tuple[str, float], Node] = {}
        self._moved: dict[tuple[int, tuple[str, ...]], Node] = {}
        self._moving: list[str] = []  # of few numbers, those that moved anything before
        self._most_ahead = 1  # simulations, those that were made included

    def at(self, node: Node) -> Times:
        """Times of *node*."""
        self._run([node])
        return self._known[id(node)][1]

    def _run(self, nodes: Sequence[Node]) -> None:
        """Have the times of *nodes*."""
        missing = [node for node in nodes if id(node) not in self._known]
        for node, times in zip(missing, self._each(self._times, missing), strict=True):
            self._known[id(node)] = node, times
            if self._progress is not None:
                made = len(self._known)
                self._progress("limits", made, max(made, self._most_ahead))

    def moved(self, node: Node, names: Sequence[str]) -> dict[str, Times]:
        """Part of each of the times *names* that follows each number; those that move none are left
        out, and of one time those in groups that it follows less than it does another number.
        """
        one = len(names) == 1
        found: dict[str, Times] = {}
        paths = self._moving or candidates(node, self._chief)
        parted = _groups(paths)
        several = [group for group in parted if not self._is_few(group, names)]
        self._most_ahead = len(self._known) + len(paths) + len(several)
        singly = [(path,) for group in parted if group not in several for path in group]
        self._run([self._there(node, each) for each in (*singly, *several)])
        groups = [(group, self._most(node, group, names)) for group in parted]
        if not one:
            asked = [(path,) for group, most in groups if most for path in group]
            self._run([self._there(node, paths) for paths in asked])
        best = 0.0
        for group, most in sorted(groups, key=lambda each: -each[1]) if one else groups:
            if not most or (one and most < best * (1 - EQUAL)):
                continue
            for path in group:
                parts = self._parts(node, (path,), names)
                if any(parts.values()):
                    found[path] = parts
                    best = max(best, *parts.values())
        self._moving = list(found) if self._chief else []
        return {path: found[path] for path in paths if path in found}

    def _most(self, node: Node, group: Sequence[str], names: Sequence[str]) -> float:
        """The largest part of a time that follows a *group*; of one number, any, and of a few where
        time is short.
        """
        if self._is_few(group, names):
            return 1.0
        return max(map(abs, self._parts(node, group, names).values()), default=0.0)

    def _is_few(self, group: Sequence[str], names: Sequence[str]) -> bool:
        """True if the numbers of *group* are moved one by one at once."""
        return len(names) > 1 and len(group) <= (FEW if self._chief else 1)

    def _there(self, node: Node, paths: Sequence[str]) -> Node:
        """*node*, whose times are known, with the numbers at *paths* better by a step."""
        key = id(node), tuple(paths)
        if key not in self._moved:
            self._moved[key] = better(node, paths, STEP)
        return self._moved[key]

    def _parts(self, node: Node, paths: Sequence[str], names: Sequence[str]) -> Times:
        there = self._there(node, paths)
        base, now = self.at(node), self.at(there)
        step = _ratio(node, there, paths[0]) if len(paths) == 1 else STEP
        return {name: followed(base[name], now[name], step) for name in names}

    def next(self, node: Node, path: str, name: str) -> tuple[str, float]:
        """The number that binds *name* once *path* is better, and from how many times on; none
        where it binds up to MOST.
        """
        half = self._follows(node, path, name, 1.0) / 2
        if self._follows(node, path, name, MOST) >= half:
            return "", MOST
        low, high = 0.0, math.log(MOST)
        for _ in range(TURNS - 2 * self._chief):
            middle = (low + high) / 2
            if self._follows(node, path, name, math.exp(middle)) >= half:
                low = middle
            else:
                high = middle
        factor = math.exp(high)
        key = path, factor
        if key not in self._screened:
            there = self._node(node, path, factor * STEP)  # where it has set in
            names = (name,) if self._chief else tuple(self.at(there))
            self._screened[key] = self.moved(there, names)
        return _largest(self._screened[key], name, but=path)[0], factor

    def _follows(self, node: Node, path: str, name: str, factor: float) -> float:
        """Part of the time *name* that follows *path* where it is *factor* times as good."""
        there = self._node(node, path, factor)
        further = self._node(node, path, factor * STEP)
        if is_whole(path) and _ratio(there, further, path) == 1:  # as many: one more
            further = better(there, (path,), STEP)
        return followed(self.at(there)[name], self.at(further)[name], _ratio(there, further, path))

    def _node(self, node: Node, path: str, factor: float) -> Node:
        if factor == 1:
            return node
        key = path, factor
        if key not in self._better:
            self._better[key] = better(node, (path,), factor)
        return self._better[key]


def followed(before: float, after: float, step: float = STEP) -> float:
    """Part of a time that follows a number: the time *before*, and *after* the number was made
    *step* times as good.
    """
    if before <= 0 or after <= 0 or step == 1 or abs(after / before - 1) < 1e-6:
        return 0.0
    return math.log(before / after) / math.log(step)


def _ratio(before: Node, after: Node, path: str) -> float:
    """Times as good as before that the number at *path* has become; of a number that is not whole
    STEP, as it was meant.
    """
    if not is_whole(path):
        return STEP
    old, new = (get_value(node, NO_WORKLOAD, path) for node in (before, after))
    return float(new / old)


def _groups(paths: Sequence[str]) -> list[tuple[str, ...]]:
    """*paths* by the part of the machine that they are of."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        steps = path.split(".")
        deep = 3 if steps[1] == "gemm_libraries" else 1 if steps[0] in ("links", "host") else 2
        groups.setdefault(tuple(steps[:deep]), []).append(path)
    return [tuple(group) for group in groups.values()]
