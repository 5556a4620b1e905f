"""Fits parameters of a node to isolated runs and pairs of stress tasks: least squares on relative
errors, with what the data can tell apart.

Records with role ``validation`` never get in: every fit begins with :func:`usable`, which refuses
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from c3sim.errors import InputError
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record

from .parameters import Fitted, Parameter, set_values
from .search import Problem, intervals

#: What may run beside a GEMM or a collective in a run that is fitted to: synthetic stress, never
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
    """Whether tasks of these *kinds* may be fitted to when they run together."""
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
