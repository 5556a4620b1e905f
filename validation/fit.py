"""Fits parameters of a node to isolated runs: least squares on relative errors, with what the data can tell apart.

Records with role ``validation`` never get in: :func:`residual_cases` refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from c3sim.errors import C3simError, InputError
from c3sim.paths import set_value, unit_of
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record
from c3sim.specs.workload import Workload
from c3sim.validation.compare import compare

__all__ = ["Fit", "Fitted", "Parameter", "fit", "residual_cases"]

_NOTHING = Workload.model_validate({"schema": 1, "name": "none", "tasks": {"none": {"kind": "host", "time": 0.0}}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A free parameter: *path* in the node, allowed *interval*, and afterwards *value* with its confidence interval."""

    path: str
    interval: tuple[float, float]
    start: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """One result: *low* and *high* bound the 95 % confidence interval; not *identified* where the data leave it open."""

    path: str
    value: float
    low: float
    high: float
    identified: bool
    entangled_with: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Fitted parameters, the node with them set, and the relative residuals."""

    parameters: tuple[Fitted, ...]
    node: Node
    residuals: tuple[float, ...]
    evaluations: int


def residual_cases(records: Sequence[Record]) -> list[Record]:
    """*records*, if every one may be fitted to. Raises InputError otherwise."""
    for record in records:
        if record.role != "calibration":
            raise InputError(
                f"record {record.id} of suite {record.suite!r} has role {record.role!r}; only calibration records may be fitted to"
            )
        if len(record.workload.tasks) != 1 and any(t.kind == "collective" for t in record.workload.tasks.values()):
            raise InputError(f"record {record.id} of suite {record.suite!r} runs a collective beside another task; fits take isolated runs")
    return list(records)


def _with(node: Node, paths: Sequence[str], values: Sequence[float]) -> Node:
    for path, value in zip(paths, map(float, values), strict=True):
        unit = unit_of(node, _NOTHING, path)
        node, _ = set_value(node, _NOTHING, path, _text(value, unit))
    return node


def _text(value: float, unit: str) -> object:
    if unit == "B":  # sizes are whole bytes
        value = float(round(value))
    return f"{value!r} {unit}" if unit else value


def fit(node: Node, records: Sequence[Record], parameters: Sequence[Parameter], weights: Mapping[str, float] | None = None) -> Fit:
    """Least squares over log(predicted / measured), soft-L1 loss, each suite weighted by 1/sqrt(its cases).

    A parameter counts as identified when its 95 % interval is narrower than half of its allowed one; two are
    entangled when their estimates correlate by more than 0.95.
    """
    usable = residual_cases(records)
    paths = [p.path for p in parameters]
    low = np.array([p.interval[0] for p in parameters])
    high = np.array([p.interval[1] for p in parameters])
    span = high - low
    counts: dict[str, int] = {}
    for record in usable:
        counts[record.suite] = counts.get(record.suite, 0) + 1
    scale = np.array([((weights or {}).get(r.suite, 1.0) / counts[r.suite]) ** 0.5 for r in usable for _ in r.measured.isolated])

    def errors(x: np.ndarray) -> np.ndarray:
        cases = compare(_with(node, paths, low + x * span), usable)
        return np.array([np.log(c.predicted / c.measured) for c in cases])

    start = np.clip((np.array([p.start for p in parameters]) - low) / span, 1e-3, 1 - 1e-3)
    found = least_squares(lambda x: errors(x) * scale, start, bounds=(0, 1), loss="soft_l1", f_scale=0.05, diff_step=2e-3)
    residuals = errors(found.x)
    return Fit(
        parameters=_intervals(paths, found, low, span),
        node=_with(node, paths, low + found.x * span),
        residuals=tuple(float(r) for r in np.exp(residuals) - 1),
        evaluations=int(found.nfev),
    )


def _intervals(paths: Sequence[str], found: object, low: np.ndarray, span: np.ndarray) -> tuple[Fitted, ...]:
    """Confidence intervals from the Jacobian; the pseudo-inverse keeps directions without information apart."""
    jacobian, x = found.jac, found.x  # type: ignore[attr-defined]
    freedom = max(1, len(found.fun) - len(x))  # type: ignore[attr-defined]
    variance = 2 * found.cost / freedom  # type: ignore[attr-defined]
    information = jacobian.T @ jacobian
    covariance = np.linalg.pinv(information, rcond=1e-10) * variance
    sigma = np.sqrt(np.diag(covariance))
    blind = np.diag(information) < 1e-9
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.nan_to_num(covariance / np.outer(sigma, sigma))
    fitted = []
    for i, path in enumerate(paths):
        width = 1.96 * sigma[i]
        near = tuple(paths[j] for j in range(len(paths)) if j != i and abs(correlation[i, j]) > 0.95)
        fitted.append(
            Fitted(
                path=path,
                value=float(low[i] + x[i] * span[i]),
                low=float(low[i] + max(0.0, x[i] - width) * span[i]),
                high=float(low[i] + min(1.0, x[i] + width) * span[i]),
                identified=bool(not blind[i] and 2 * width < 0.5),
                entangled_with=near,
            )
        )
    return tuple(fitted)
