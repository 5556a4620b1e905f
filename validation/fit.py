"""Fits parameters of a node to isolated runs: least squares on relative errors, with what the data can tell apart.

Records with role ``validation`` never get in: :func:`usable` refuses them, and every fit begins with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from c3sim.errors import InputError
from c3sim.paths import set_value, unit_of
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record
from c3sim.specs.workload import Workload

from .compare import compare

__all__ = ["Fit", "Fitted", "Parameter", "fit", "set_values", "usable"]

MOST = 40  # steps of one search; a flat valley takes no more
STEP = 0.01  # of the allowed interval: wide enough to look across the steps that tiles and rounds make
WIDE = 5.0  # an interval whose ends differ by more than this factor is searched in logarithms
IDENTIFIED = 0.5  # of the allowed interval: the widest confidence interval that still says something
ENTANGLED = 0.95  # correlation of two estimates from which on the data do not tell them apart
FLAT = 1 / 12  # variance of a parameter of which only the allowed interval, 0 to 1, is known
TINY = 1e-10  # variance of residuals below which data are as good as exact
LOSS = 0.05  # relative error up to which residuals count squared; larger ones count linearly (soft L1)

Array = NDArray[np.float64]
_NOTHING = Workload.model_validate({"schema": 1, "name": "none", "tasks": {"none": {"kind": "host", "time": 0.0}}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A free parameter: *path* in the node, the *interval* it may move in, and where to *start*; in SI units."""

    path: str
    interval: tuple[float, float]
    start: float

    @property
    def _logarithmic(self) -> bool:
        low, high = self.interval
        return low > 0 and high > WIDE * low

    def place(self, value: float) -> float:
        """Where *value* lies in the interval: 0 to 1."""
        low, high = self.interval
        where = math.log(value / low) / math.log(high / low) if self._logarithmic else (value - low) / (high - low)
        return min(max(where, 0.0), 1.0)

    def value(self, place: float) -> float:
        """The value at *place*."""
        low, high = self.interval
        return low * (high / low) ** place if self._logarithmic else low + place * (high - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """One result: *low* and *high* bound the 95 % confidence interval; not *identified* where the data leave it open."""

    path: str
    value: float
    low: float
    high: float
    identified: bool
    entangled_with: tuple[str, ...] = ()
    width: float = 1.0  # of the confidence interval, as a fraction of the allowed one


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Parameters in the order given, the node with them set, and the relative residuals, one per figure."""

    parameters: tuple[Fitted, ...]
    node: Node
    residuals: tuple[float, ...]
    evaluations: int


def usable(records: Sequence[Record]) -> list[Record]:
    """*records*, if every one may be fitted to. Raises InputError otherwise."""
    for record in records:
        which = f"record {record.id} of suite {record.suite!r}"
        if record.role != "calibration":
            raise InputError(f"{which} has role {record.role!r}; only calibration records may be fitted to")
        kinds = [task.kind for task in record.workload.tasks.values()]
        if len(kinds) > 1 and {"gemm", "collective"} & set(kinds):
            raise InputError(f"{which} runs {' and '.join(sorted(kinds))} together; fits take isolated GEMMs and collectives")
    if not records:
        raise InputError("no calibration record to fit to; needs at least one")
    return list(records)


def set_values(node: Node, values: Mapping[str, float]) -> Node:
    """*node* with SI *values* by path."""
    for path, value in values.items():
        unit = unit_of(node, _NOTHING, path)
        number = float(round(value)) if unit == "B" else float(value)  # sizes are whole bytes
        node, _ = set_value(node, _NOTHING, path, f"{number!r} {unit}" if unit else number)
    return node


def fit(node: Node, records: Sequence[Record], parameters: Sequence[Parameter]) -> Fit:
    """Least squares over log(predicted / measured), soft-L1 loss, every suite with the same weight.

    Parameters that the data leave open keep their start and their interval, the least certain first, and the others
    are fitted again without them: one counts as identified when its 95 % interval is narrower than half of its allowed
    one. Two are entangled when their estimates correlate by more than 0.95. Raises InputError.
    """
    problem = _Problem(node, usable(records), parameters)
    free, evaluations = list(range(len(parameters))), 0
    left: dict[int, Fitted] = {}
    while True:
        found = problem.solve(free)
        evaluations += found.evaluations
        results = _intervals([parameters[i] for i in free], found)
        open_ones = [i for i, result in enumerate(results) if not result.identified]
        if not open_ones:
            break
        loosest = max(open_ones, key=lambda i: results[i].width)
        kept = parameters[free[loosest]]
        left[free[loosest]] = replace(results[loosest], value=kept.start, low=kept.interval[0], high=kept.interval[1])
        del free[loosest]
    fitted = {**left, **dict(zip(free, results, strict=True))}
    ordered = tuple(fitted[i] for i in range(len(parameters)))
    final = set_values(node, {result.path: result.value for result in ordered})
    residuals = tuple(float(case.error) for case in compare(final, problem.records))
    return Fit(parameters=ordered, node=final, residuals=residuals, evaluations=evaluations)


class _Solution(NamedTuple):
    """Where the free parameters lie (0 to 1), weighted residuals and their slopes there, and the cost."""

    x: Array
    fun: Array
    jac: Array
    cost: float
    evaluations: int


class _Problem:
    """Residuals as a function of where the free parameters lie in their intervals; the others stay where they start."""

    def __init__(self, node: Node, records: list[Record], parameters: Sequence[Parameter]) -> None:
        self.node, self.records, self.parameters = node, records, parameters
        cases = compare(node, records)
        counts = Counter(case.suite for case in cases)
        self.scale = np.array([counts[case.suite] ** -0.5 for case in cases])

    def solve(self, free: Sequence[int]) -> _Solution:
        """The best place for the parameters numbered *free*; without any, just the residuals."""
        chosen = [self.parameters[i] for i in free]
        errors = self._errors(chosen)
        start = np.array([min(max(p.place(p.start), 1e-3), 1 - 1e-3) for p in chosen])
        if not chosen:
            return _Solution(start, errors(start), np.zeros((len(self.scale), 0)), 0.0, 1)

        def slopes(x: Array) -> Array:
            return _slopes(errors, x)

        loss: Any = self._loss
        found: Any = least_squares(errors, start, jac=slopes, bounds=(0, 1), loss=loss, max_nfev=MOST)
        return _Solution(found.x, found.fun, found.jac, float(found.cost), int(found.nfev))

    def _loss(self, squares: Array) -> Array:
        """Soft L1 and its derivatives, from LOSS on, whatever weight the suite of a residual has."""
        limit = (LOSS * self.scale) ** 2
        root = np.sqrt(1 + squares / limit)
        return np.array([2 * limit * (root - 1), 1 / root, -0.5 / root**3 / limit])

    def _errors(self, chosen: Sequence[Parameter]) -> Callable[[Array], Array]:
        def errors(x: Array) -> Array:
            values = {p.path: p.value(float(place)) for p, place in zip(chosen, x, strict=True)}
            cases = compare(set_values(self.node, values), self.records)
            return np.array([math.log(c.predicted / c.measured) for c in cases]) * self.scale

        return errors


def _slopes(errors: Callable[[Array], Array], x: Array) -> Array:
    """Central differences, within the interval."""
    columns = []
    for i in range(len(x)):
        above, below = x.copy(), x.copy()
        above[i], below[i] = min(x[i] + STEP, 1.0), max(x[i] - STEP, 0.0)
        columns.append((errors(above) - errors(below)) / (above[i] - below[i]))
    return np.stack(columns, axis=1)


def _intervals(parameters: Sequence[Parameter], found: _Solution) -> list[Fitted]:
    """95 % intervals from the Jacobian; what the data leave open is as uncertain as the allowed interval is wide."""
    jacobian, x = found.jac, found.x
    variance = max(2 * found.cost / max(1, len(found.fun) - len(x)), TINY)
    covariance = np.linalg.inv(jacobian.T @ jacobian / variance + np.eye(len(x)) / FLAT)
    sigma = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(sigma, sigma)
    fitted = []
    for i, parameter in enumerate(parameters):
        low, high = max(0.0, x[i] - 1.96 * sigma[i]), min(1.0, x[i] + 1.96 * sigma[i])
        width = min(1.0, float(2 * 1.96 * sigma[i]))
        near = [p.path for j, p in enumerate(parameters) if j != i and abs(correlation[i, j]) > ENTANGLED]
        fitted.append(
            Fitted(
                path=parameter.path, value=parameter.value(float(x[i])), low=parameter.value(float(low)),
                high=parameter.value(float(high)), identified=width < IDENTIFIED, entangled_with=tuple(near), width=width,
            )
        )  # fmt: skip
    return fitted
