"""The band of a prediction: which results the intervals of the node's parameters allow.

Parameters are drawn by a Latin hypercube: each interval is cut into as many equal parts as there
are samples, and each part is used once. Every sample is a run. The same seed and number of samples
give the same band, in ``run --uncertainty`` and in ``sensitivity``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError
from c3sim.input.loading import LoadedNode
from c3sim.specs.described import Described
from c3sim.specs.workload import Workload
from c3sim.sweeps.executor import Watcher, Workers
from c3sim.sweeps.intervals import Parameter, latin_hypercube, parameters_of, settings_of, spread
from c3sim.sweeps.outputs import OF_ITERATION, split_task_output
from c3sim.sweeps.points import Settings
from c3sim.sweeps.samples import Sampler
from c3sim.sweeps.setup import Setup
from c3sim.sweeps.target import OUTPUTS

BAND_SAMPLES = 256  # where nothing else is asked for: whoever draws them gets the same band


@dataclass(frozen=True, kw_only=True)
class Band:
    """*outputs*: p5, median and p95 of each, over the samples that ran."""

    outputs: Mapping[str, Mapping[str, float]]
    parameters: Sequence[Parameter]
    settings: Sequence[Settings]
    rows: Sequence[Mapping[str, Any]]
    seed: int

    @property
    def samples(self) -> int:
        return len(self.rows)

    @property
    def failed(self) -> int:
        """Samples that could not be run, because their values exclude each other."""
        return sum(row["error"] is not None for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        of_run: dict[str, Any] = {}
        tasks: dict[str, dict[str, Any]] = {}
        for name, ends in self.outputs.items():
            if name.startswith("tasks."):
                task, field = split_task_output(name)
                tasks.setdefault(task, {})[field] = dict(ends)
            else:
                of_run[name] = dict(ends)
        return {
            "method": "latin hypercube",
            "samples": self.samples,
            "seed": self.seed,
            "failed": self.failed,
            "parameters": len(self.parameters),
            "logarithmic": [each.path for each in self.parameters if each.log],
            **of_run,
            "tasks": tasks,
        }


def uncertainty(
    workload: Workload,
    loaded: LoadedNode,
    strategy: str,
    *,
    samples: int = BAND_SAMPLES,
    seed: int = 1,
    but: Container[str] = (),
    workers: Workers | None = None,
    watcher: Watcher | None = None,
) -> Band:
    """The band of wall time, speedup, fraction of ideal and slowdowns of one run.

    Parameters in *but* keep their value. Raises InputError: the node has no interval, or no sample
    runs.
    """
    of_tasks: tuple[str, ...] = tuple(f"tasks.{name}.slowdown" for name in workload.tasks)
    if isinstance(workload, Described):
        of_tasks = OF_ITERATION
    outputs = (*OUTPUTS, *of_tasks)
    setup = Setup(
        node=loaded.node,
        workloads={workload.name: workload},
        settings={workload.name: {}},
        outputs=outputs,
    )
    sampler = Sampler(setup=setup, strategy=strategy, workers=workers or Workers(jobs=1))
    sampler.ask(samples)
    return band_of(sampler, parameters_of(loaded, but), samples, seed, watcher)


def band_of(
    sampler: Sampler,
    parameters: Sequence[Parameter],
    samples: int,
    seed: int,
    watcher: Watcher | None = None,
) -> Band:
    """The band of every output. Raises InputError: no parameter, or no sample runs."""
    if not parameters:
        raise InputError(
            f"no parameter of {sampler.setup.node.name} has an interval: there is nothing to draw",
            "--node",
        )
    places = latin_hypercube([each.path for each in parameters], samples, seed)
    settings = [settings_of(parameters, row) for row in places]
    rows = sampler.rows(settings, watcher)
    good = [row for row in rows if row["error"] is None]
    if not good:
        raise InputError(f"no sample runs; the first: {rows[0]['error']}")
    known = {
        name: [row[name] for row in good if row[name] is not None] for name in sampler.setup.outputs
    }
    outputs = {name: spread(values) for name, values in known.items() if values}
    return Band(outputs=outputs, parameters=parameters, settings=settings, rows=rows, seed=seed)
