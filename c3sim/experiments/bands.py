"""Parameters of a node that are known within an interval, samples of them, and the band of a
prediction: which results the intervals allow.

- The interval of a number is that of the node file. Of a calibrated one it is the narrower 95 %
  interval under ``calibrated``.
- Within its interval a parameter is uniform; log-uniform where the ends are over a decade apart.
- Parameters are independent. Where a fit ties two together, the band is too wide.
- A Latin hypercube cuts each interval into as many equal parts as there are samples, and uses each
  part once. The same seed and number of samples give the same band, in ``run --uncertainty`` and in
  ``sensitivity``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from c3sim.errors import InputError
from c3sim.experiments.axes import Settings
from c3sim.experiments.jobs import Watcher, Workers, in_order
from c3sim.experiments.outputs import OF_ITERATION, OUTPUTS, split_task_output
from c3sim.experiments.points import PointRunner, Row, run_batch
from c3sim.experiments.setup import Setup, code_hash
from c3sim.spec.iteration import Described
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.sourced import Leaf
from c3sim.spec.workload import Workload

if TYPE_CHECKING:
    import numpy as np

    from c3sim.experiments.study import Options

_DECADE = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """The *value* at a *path* of a node, between *low* and *high*, in SI *unit*.

    *fitted*: the interval is that of a fit, not that of the file; *whole*: only whole numbers.
    """

    path: str
    value: float
    low: float
    high: float
    unit: str
    whole: bool
    fitted: bool

    @property
    def log(self) -> bool:
        """True if it is sampled in logarithms."""
        return self.low > 0 and self.high > _DECADE * self.low

    def at(self, place: float) -> float | int:
        """The value at *place* of the interval, from 0 to 1."""
        if self.whole:  # each whole number has the same share
            return min(int(self.low + place * (self.high - self.low + 1)), int(self.high))
        if self.log:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + place * (self.high - self.low)
        return float(round(value)) if self.unit == "B" else value

    def place(self, value: float) -> float:
        """The place of *value* in the interval, from 0 to 1."""
        low, high = self.low, self.high
        if self.log:
            return math.log(value / low) / math.log(high / low) if value > 0 else 0.0
        return (value - low) / (high - low)


def parameters_of(loaded: LoadedNode, but: Container[str] = ()) -> tuple[Parameter, ...]:
    """Every number of the node with an interval, except *but*, in the order of the files."""
    parameters = []
    for path, leaf in loaded.provenance.items():
        if leaf.interval is None or path in but:
            continue
        ends = _calibrated_interval(leaf)
        low, high = ends or leaf.interval
        if low < high:
            parameters.append(
                Parameter(
                    path=path,
                    value=leaf.value,
                    low=low,
                    high=high,
                    unit=leaf.unit,
                    whole=isinstance(leaf.value, int),
                    fitted=ends is not None,
                )
            )
    return tuple(parameters)


def _calibrated_interval(leaf: Leaf) -> tuple[float, float] | None:
    """The 95 % interval of a fit, within that of the file; None where there is no fit."""
    if leaf.calibrated is None or leaf.interval is None:
        return None
    low, high = leaf.calibrated.interval
    return max(low, leaf.interval[0]), min(high, leaf.interval[1])


def latin_hypercube(names: Sequence[str], samples: int, seed: int) -> np.ndarray:
    """Places from 0 to 1: a row for each sample, a column for each of *names*, what is drawn.

    A column follows from its name and *seed* alone: one more thing to draw changes no other draw.
    It is ``scipy.stats.qmc.LatinHypercube(1, seed)``, without the 70 MB that importing it takes.
    """
    import numpy as np

    def column(name: str) -> np.ndarray:
        random = np.random.default_rng((seed, crc32(name.encode()))).spawn(1)[0]
        within, parts = random.uniform(size=samples), np.arange(1, samples + 1)
        random.shuffle(parts)
        return ((parts - within) / samples)[:, None]

    return np.hstack([np.empty((samples, 0)), *(column(name) for name in names)])


def settings_at(parameters: Sequence[Parameter], places: Sequence[float]) -> Settings:
    """Settings of a point: each parameter at its place."""
    return tuple(
        (each.path, each.at(float(place))) for each, place in zip(parameters, places, strict=True)
    )


def settings_drawn(parameters: Sequence[Parameter], count: int, seed: int) -> list[Settings]:
    """Settings of *count* draws of all *parameters* by a Latin hypercube."""
    places = latin_hypercube([each.path for each in parameters], count, seed)
    return [settings_at(parameters, row) for row in places]


def draws_within(
    loaded: LoadedNode, paths: Sequence[str], options: Options, count: int
) -> tuple[Settings, ...]:
    """Settings of draws of the parameters at or under *paths*, but those that *options* set: as
    many as these say, else *count*; none without a band.
    """
    count = options.draws if options.draws is not None else count
    if not options.band or not count:
        return ()
    drawn = [
        each
        for each in parameters_of(loaded, options.settings)
        if any(each.path == path or each.path.startswith(f"{path}.") for path in paths)
    ]
    return tuple(settings_drawn(drawn, count, seed=1))


def ends_within(loaded: LoadedNode, paths: Sequence[str]) -> tuple[Settings, ...]:
    """Settings at each end of the intervals of the parameters at *paths*, one moved at a time."""
    found = [each for each in parameters_of(loaded) if each.path in paths]
    return tuple(((each.path, each.at(place)),) for each in found for place in (0.0, 1.0))


def ends_of(values: Sequence[float]) -> list[float] | None:
    """5th and 95th percentile; None: there are no values."""
    if not values:
        return None
    found = spread(values)
    return [found["p5"], found["p95"]]


def around(
    nominal: float, drawn: Sequence[float], ends: Sequence[float] = ()
) -> list[float] | None:
    """5th to 95th percentile of *nominal* and *drawn*, and all *ends*; None: nothing is drawn."""
    band = ends_of([nominal, *drawn]) if drawn else None
    return band and [min([band[0], *ends]), max([band[1], *ends])]


class Reduced(NamedTuple):
    """One figure of many rows, its band (:func:`around`), and it at each end of an interval."""

    value: float
    band: list[float] | None
    ends: list[float]


def reduced(
    of: Callable[[Sequence[float]], float],
    values: Sequence[float],
    drawn: Sequence[Sequence[float]],
    ends: Sequence[Sequence[float]] = (),
) -> Reduced:
    """The figure *of* the *values* of all rows; *drawn* and *ends*: those of each row, draw by draw
    and end by end, as many as all rows have.
    """
    here = of(values)
    draws, others = ([of(each) for each in zip(*rows, strict=False)] for rows in (drawn, ends))
    return Reduced(here, around(here, draws, others), others)


def spread(values: Sequence[float]) -> dict[str, float]:
    """5th percentile, median and 95th percentile."""
    import numpy as np

    low, middle, high = np.quantile(np.asarray(values, dtype=float), (0.05, 0.5, 0.95))
    return {"p5": float(low), "median": float(middle), "p95": float(high)}


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Runs settings for all scenarios of a *setup* under one *strategy*."""

    setup: Setup
    strategy: str
    workers: Workers

    def ask(self, samples: int) -> None:
        """Decide whether to run so many *samples* (Workers.ask)."""
        self.workers.ask(self.setup.effort(self.strategy), samples * len(self.setup.workloads))

    def rows(self, samples: Sequence[Settings], watcher: Watcher | None = None) -> list[Row]:
        """A row for each sample: the mean of every output over the scenarios, and ``error``."""
        watcher = watcher or (lambda *_: None)
        mean_row = partial(_mean_row, self.strategy)
        work = partial(run_batch, self.setup, self.setup.identity, code_hash(), mean_row)
        watcher(0, len(samples), 0)
        return in_order(work, samples, self.workers, watcher)


def _mean_row(strategy: str, runner: PointRunner, settings: Settings) -> Row:
    return runner.mean_row(strategy, settings)


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

    def apart(self, output: str, value: float) -> Parameter | None:
        """The parameter that sets *value*, of the run as it is, most apart from the median of
        *output*: by its effect over the samples (a straight line) and the place of its own value.
        None where no single one does for a third of the distance.
        """
        import numpy as np

        ran = [(row, chosen) for row, chosen in zip(self.rows, self.settings, strict=False)]
        ran = [each for each in ran if each[0]["error"] is None and each[0][output] is not None]
        distance = value - self.outputs[output]["median"]
        if len(ran) < 3 or not self.parameters or not distance:
            return None
        found = np.array([float(row[output]) for row, _ in ran])
        values = [[float(drawn) for _, drawn in chosen] for _, chosen in ran]
        places = np.array(
            [[e.place(v) for e, v in zip(self.parameters, row, strict=True)] for row in values]
        )
        off = places - places.mean(axis=0)
        slopes = off.T @ (found - found.mean()) / np.maximum((off**2).sum(axis=0), 1e-12)
        own = np.array([each.place(each.value) for each in self.parameters])
        shares = slopes * (own - places.mean(axis=0)) / distance
        most = int(shares.argmax())
        return self.parameters[most] if shares[most] > 1 / 3 else None

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
    outputs: tuple[str, ...] = (),
    workers: Workers | None = None,
    watcher: Watcher | None = None,
) -> Band:
    """The band of *outputs* of one run; left out: of wall time, speedup, fraction of ideal and
    slowdowns.

    Parameters in *but* keep their value. Raises InputError: the node has no interval, or no sample
    runs.
    """
    of_tasks: tuple[str, ...] = tuple(f"tasks.{name}.slowdown" for name in workload.tasks)
    if isinstance(workload, Described):
        of_tasks = OF_ITERATION
    setup = Setup(
        node=loaded.node,
        workloads={workload.name: workload},
        settings={workload.name: {}},
        outputs=outputs or (*OUTPUTS, *of_tasks),
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
    settings = settings_drawn(parameters, samples, seed)
    rows = sampler.rows(settings, watcher)
    good = [row for row in rows if row["error"] is None]
    if not good:
        raise InputError(f"no sample runs; the first: {rows[0]['error']}")
    known = {
        name: [row[name] for row in good if row[name] is not None] for name in sampler.setup.outputs
    }
    outputs = {name: spread(values) for name, values in known.items() if values}
    return Band(outputs=outputs, parameters=parameters, settings=settings, rows=rows, seed=seed)
