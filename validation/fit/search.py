"""The least-squares search: weighted residuals, their slopes, and how certain its result is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from c3sim.specs.hardware import Node
from c3sim.specs.record import Record

from ..compare.figures import Figure, compare_record
from .parameters import Fitted, Parameter, set_values

MOST = 40  # steps of one search; a flat valley takes no more
# Of the allowed interval: wide enough to look across the steps that tiles and rounds make.
STEP = 0.01
# Of the allowed interval: the widest confidence interval that still says something.
IDENTIFIED = 0.5
ENTANGLED = 0.95  # correlation of two estimates from which on the data do not tell them apart
FLAT = 1 / 12  # variance of a parameter of which only the allowed interval, 0 to 1, is known
TINY = 1e-10  # variance of residuals below which data are as good as exact
# Relative error up to which residuals count squared; larger ones count linearly (soft L1).
LOSS = 0.05

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """Where the free parameters lie (0 to 1); weighted residuals, slopes and cost there."""

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
        cases = self.cases({each.path: each.start for each in parameters})
        counts = Counter(case.suite for case in cases)
        self.scale = np.array([counts[case.suite] ** -0.5 for case in cases])

    def cases(self, values: Mapping[str, float]) -> list[Figure]:
        """What is predicted with *values* set on every node."""
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
            values = {p.path: p.value(float(place)) for p, place in zip(chosen, x, strict=True)}
            ratios = [case.predicted / case.measured for case in self.cases({**kept, **values})]
            weighted: Array = np.array([math.log(ratio) for ratio in ratios]) * self.scale
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
    variance = max(2 * found.cost / max(1, len(found.fun) - len(x)), TINY)
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
