"""Fits parameters of a node to isolated runs and pairs of stress tasks: least squares on relative
errors, with what the data can tell apart.

Records with role ``validation`` never get in: every fit begins with :func:`usable`, which refuses
them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from c3sim.errors import InputError
from c3sim.experiments.kept import kept_calls
from c3sim.spec.hardware import Node
from c3sim.spec.reading.paths import set_value, tuned, unit_of
from c3sim.spec.record import Record

from ..compare.figures import Figure, compare_record
from ..compare.record_files import NO_WORKLOAD, data_hash

#: Tasks that may run beside a GEMM or a collective in a fit: synthetic stress, never
#: the other of the two.
STRESS = {"gemm": {"stream", "hold", "copy"}, "collective": {"stream", "hold"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Parameters in the order given, the node with them set, and the residual of each figure."""

    parameters: tuple[Fitted, ...]
    node: Node
    residuals: tuple[float, ...]


def usable(records: Sequence[Record]) -> list[Record]:
    """*records*, if every one may be fitted to. Raises InputError otherwise."""
    for record in records:
        which = f"record {record.id} of suite {record.suite!r}"
        if record.role != "calibration":
            raise InputError(
                f"{which} has role {record.role!r}; only calibration records may be fitted to"
            )
        kinds = [task.kind for task in record.workload.tasks.values()]
        if not _is_open(kinds):
            raise InputError(
                f"{which} runs {' and '.join(sorted(kinds))} together; fits take isolated tasks "
                "and stress pairs, never a GEMM together with a collective"
            )
    if not records:
        raise InputError("no calibration record to fit to; needs at least one")
    return list(records)


def _is_open(kinds: Sequence[str]) -> bool:
    """True if tasks of these *kinds* may be fitted to when they run together."""
    workers = [kind for kind in kinds if kind in STRESS]
    if len(kinds) < 2 or not workers:
        return True
    others = list(kinds)
    others.remove(workers[0])
    return all(kind in STRESS[workers[0]] for kind in others)


def fit(
    node: Node,
    records: Sequence[Record],
    parameters: Sequence[Parameter],
    kin: Mapping[str, Node] | None = None,
) -> Fit:
    """Least squares over log(predicted / measured), soft-L1 loss, every suite with the same weight.

    *kin*: other nodes, by name, that have the parameters from the same file; their records are
    predicted on them. Parameters that the data leave open keep their start and their interval, the
    least certain first, and the others are fitted again without them: one counts as identified when
    its 95 % interval is narrower than half of its allowed one. Two are entangled when their
    estimates correlate by more than 0.95. Raises InputError.
    """
    problem = Problem(node, usable(records), parameters, kin or {})
    free = list(range(len(parameters)))
    left: dict[int, Fitted] = {}
    while True:
        found = problem.solve(free)
        results = intervals([parameters[i] for i in free], found)
        open_ones = [i for i, result in enumerate(results) if not result.identified]
        if not open_ones:
            break
        loosest = max(open_ones, key=lambda i: results[i].width)
        kept = parameters[free[loosest]]
        left[free[loosest]] = replace(
            results[loosest], value=kept.start, low=kept.interval[0], high=kept.interval[1]
        )
        del free[loosest]
    fitted = left | dict(zip(free, results, strict=True))
    ordered = tuple(fitted[i] for i in range(len(parameters)))
    values = {result.path: result.value for result in ordered}
    residuals = tuple(float(case.error) for case in problem.cases(values))
    final = set_values(node, values)
    return Fit(parameters=ordered, node=final, residuals=residuals)


# Free parameters of a node: where they may move, and what came of a fit.


# less than any quantity of a node means; a search that ends at a limit of 0 comes close to it
TINY = 1e-24
WIDE = 5.0  # an interval whose ends differ by more than this factor is searched in logarithms


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Free number: its *path* in the node, the *interval* it may move in, where to *start*; SI
    units.
    """

    path: str
    interval: tuple[float, float]
    start: float

    @property
    def _logarithmic(self) -> bool:
        low, high = self.interval
        return low > 0 and high > WIDE * low

    def place(self, value: float) -> float:
        """The place of *value* in the interval: 0 to 1."""
        low, high = self.interval
        if self._logarithmic:
            where = math.log(value / low) / math.log(high / low)
        else:
            where = (value - low) / (high - low)
        return min(max(where, 0.0), 1.0)

    def value(self, place: float) -> float:
        """The value at *place*."""
        low, high = self.interval
        value = low * (high / low) ** place if self._logarithmic else low + place * (high - low)
        return value if abs(value) > TINY else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """*low* and *high* bound the 95 % interval; not *identified* where the data leave it open."""

    path: str
    value: float
    low: float
    high: float
    identified: bool
    entangled_with: tuple[str, ...] = ()
    width: float = 1.0  # of the confidence interval, as a fraction of the allowed one


def set_values(node: Node, values: Mapping[str, float]) -> Node:
    """*node* with SI *values* by path, on which libraries choose anew: it will be a file."""
    for path, value in values.items():
        unit = unit_of(node, NO_WORKLOAD, path)
        number = float(round(value)) if unit == "B" else float(value)  # sizes are whole bytes
        node, _ = set_value(node, NO_WORKLOAD, path, f"{number!r} {unit}" if unit else number)
    return tuned(node, None)


# The least-squares search: weighted residuals, their slopes, and how certain its result is.


MOST = 40  # steps of one search; a flat valley takes no more
# Share of the allowed interval: wide enough to look across the steps that tiles and rounds make.
STEP = 0.01
# Share of the allowed interval: the widest confidence interval that still says something.
IDENTIFIED = 0.5
ENTANGLED = 0.95  # correlation of two estimates from which on the data do not tell them apart
FLAT = 1 / 12  # variance of a parameter of which only the allowed interval, 0 to 1, is known
EXACT = 1e-10  # variance of residuals below which data are as good as exact
# Relative error up to which residuals count squared; larger ones count linearly (soft L1).
LOSS = 0.05

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """The places of the free parameters (0 to 1); weighted residuals, slopes and cost there."""

    x: Array
    fun: Array
    jac: Array
    cost: float


class Problem:
    """Residuals by where the free parameters lie in their intervals; the others stay at the start.

    *kin*: other nodes, by name, that have these parameters from the same file; their records run on
    them.
    """

    def __init__(
        self,
        node: Node,
        records: list[Record],
        parameters: Sequence[Parameter],
        kin: Mapping[str, Node],
    ) -> None:
        self.nodes = {node.name: node, **kin}
        self.node = node
        self.records, self.parameters = records, parameters
        # searches take the same way again, so one that was interrupted goes on where it was
        self._known = kept_calls((self.nodes, data_hash(records), tuple(parameters)))
        cases = self.cases({each.path: each.start for each in parameters})
        counts = Counter(case.suite for case in cases)
        self.scale = np.array([counts[case.suite] ** -0.5 for case in cases])

    def cases(self, values: Mapping[str, float]) -> list[Figure]:
        """Predictions with *values* set on every node."""
        nodes = {name: set_values(node, values) for name, node in self.nodes.items()}
        own = nodes[self.node.name]
        return [
            case
            for record in self.records
            for case in compare_record(nodes.get(record.node, own), record)
        ]

    def solve(self, free: Sequence[int]) -> Solution:
        """The best place for the parameters numbered *free*; without any, just the residuals."""
        chosen = [self.parameters[i] for i in free]
        kept = {p.path: p.start for i, p in enumerate(self.parameters) if i not in free}
        errors = self._errors(chosen, kept)
        start = np.array([min(max(p.place(p.start), 1e-3), 1 - 1e-3) for p in chosen])
        if not chosen:
            return Solution(start, errors(start), np.zeros((len(self.scale), 0)), 0.0)

        loss: Any = self._loss
        slopes: Any = partial(_slopes, errors)
        found: Any = least_squares(
            errors, start, jac=slopes, bounds=(0, 1), loss=loss, max_nfev=MOST
        )
        return Solution(found.x, found.fun, found.jac, float(found.cost))

    def _loss(self, squares: Array) -> Array:
        """Soft L1 and its derivatives, from LOSS on, whatever the weight of the suite."""
        limit = (LOSS * self.scale) ** 2
        root = np.sqrt(1 + squares / limit)
        return np.array([2 * limit * (root - 1), 1 / root, -0.5 / root**3 / limit])

    def _errors(
        self, chosen: Sequence[Parameter], kept: Mapping[str, float]
    ) -> Callable[[Array], Array]:
        def errors(x: Array) -> Array:
            tried = {p.path: p.value(float(place)) for p, place in zip(chosen, x, strict=True)}
            values = {**kept, **tried}
            known = tuple(sorted(values.items()))
            if known not in self._known:
                ratios = [case.predicted / case.measured for case in self.cases(values)]
                self._known[known] = np.array([math.log(ratio) for ratio in ratios]) * self.scale
            weighted: Array = self._known[known]
            return weighted

        return errors


def _slopes(errors: Callable[[Array], Array], x: Array) -> Array:
    """Central differences, within the interval."""
    columns = []
    for i in range(len(x)):
        above, below = x.copy(), x.copy()
        above[i], below[i] = min(x[i] + STEP, 1.0), max(x[i] - STEP, 0.0)
        columns.append((errors(above) - errors(below)) / (above[i] - below[i]))
    return np.stack(columns, axis=1)


def intervals(parameters: Sequence[Parameter], found: Solution) -> list[Fitted]:
    """95 % intervals from the Jacobian; what the data leave open is as uncertain as the allowed
    interval is wide.
    """
    jacobian, x = found.jac, found.x
    variance = max(2 * found.cost / max(1, len(found.fun) - len(x)), EXACT)
    covariance = np.linalg.inv(jacobian.T @ jacobian / variance + np.eye(len(x)) / FLAT)
    sigma = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(sigma, sigma)
    fitted = []
    for i, parameter in enumerate(parameters):
        low, high = max(0.0, x[i] - 1.96 * sigma[i]), min(1.0, x[i] + 1.96 * sigma[i])
        width = min(1.0, float(2 * 1.96 * sigma[i]))
        near = (j for j, each in enumerate(correlation[i]) if j != i and abs(each) > ENTANGLED)
        fitted.append(
            Fitted(
                path=parameter.path,
                value=parameter.value(float(x[i])),
                low=parameter.value(float(low)),
                high=parameter.value(float(high)),
                identified=width < IDENTIFIED,
                entangled_with=tuple(parameters[j].path for j in near),
                width=width,
            )
        )
    return fitted
