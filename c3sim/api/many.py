"""Many runs with a question, from Python: ``optimise``, ``sensitivity``, ``validate``; and the
workload that a trace is.

As the commands of the same names; what comes back has ``to_dict()`` and ``to_frame()``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from c3sim.kit.progress import heard, sweep_progress
from c3sim.kit.progress import progress as progress_bar
from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.reading.settings import settings_of

if TYPE_CHECKING:
    from c3sim.api import Settings
    from c3sim.evaluation.effort import Agree
    from c3sim.evaluation.shares import Progress
    from c3sim.experiments.jobs import Watcher
    from c3sim.experiments.screening import Screening
    from c3sim.experiments.search import SearchResult
    from c3sim.experiments.sensitivity import Sensitivity
    from c3sim.importers.workloads.imported import Imported
    from c3sim.validation.compare.verdict import Verdict

__all__ = ["import_trace", "optimise", "sensitivity", "validate"]

NodeName = LoadedNode | str | PathLike[str]
AnyPath = str | PathLike[str]


def optimise(
    study: AnyPath,
    *,
    node: NodeName | None = None,
    trials: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Watcher | None = None,
) -> SearchResult:
    """Designs of *study* that are best in its objectives, and what they gain over what is there
    (``gains``). *node*, *trials* and *seed* replace its own; *progress* hears of designs done, in
    all, failed. Raises InputError: Optuna is missing, or the study has no ``search``.
    """
    from c3sim.experiments.jobs import Workers
    from c3sim.experiments.search import optimise as search

    with heard(progress, partial(sweep_progress, "designs")) as watcher:
        return search(
            study if isinstance(study, str) else Path(study),
            node=None if node is None else _loaded(node),
            trials=trials,
            seed=seed,
            workers=Workers(jobs=jobs),
            watcher=watcher,
        )


def sensitivity(
    target: AnyPath,
    *,
    node: AnyPath | None = None,
    strategy: str | None = None,
    output: str | None = None,
    set: Settings | None = None,
    screen: int | None = None,
    samples: int = 64,
    top: int = 8,
    band_samples: int = 256,
    seed: int = 1,
    jobs: int | None = None,
    progress: Watcher | None = None,
) -> Sensitivity | Screening:
    """Effects of the node's uncertain numbers on *output* of a study or a workload, the largest
    first: a row of ``to_frame()`` each. Options as those of ``c3sim sensitivity``: left out,
    iterations are screened, in at most 96 runs; ``screen=0`` varies all of their parameters, which
    takes minutes.
    """
    from c3sim.experiments.influence import question
    from c3sim.experiments.jobs import Workers
    from c3sim.experiments.screening import Screening
    from c3sim.validation.compare.coverage_file import seen_by

    asked = question(
        str(target),
        node=None if node is None else str(node),
        strategy=strategy,
        output=output,
        screened=screen,
        changes=settings_of(set),
        workers=Workers(jobs=jobs),
    )
    with heard(progress, partial(sweep_progress, "runs")) as watcher:
        found = asked.answer(
            samples=samples, top=top, band_samples=band_samples, seed=seed, watcher=watcher
        )
    if isinstance(found, Screening):
        return replace(found, measured=seen_by(asked.target.node))
    return found


def import_trace(
    *files: AnyPath,
    node: AnyPath | None = None,
    iteration: int | None = None,
    translate: AnyPath | None = None,
) -> Imported:
    """One iteration of PyTorch profiler or Chakra traces (a file a rank, or folders) as a workload
    that replays it: ``workload`` is what ``c3sim.run`` takes, ``text`` its file, ``replay`` how far
    off it is. *node*: left out, the one that fits the trace; *translate*: another node that the
    workload is for.
    """
    from c3sim.importers.workloads.changes import imported

    on, to = (None if name is None else str(name) for name in (node, translate))
    return imported([Path(file) for file in files], on, iteration, translate=to)


def validate(
    *files: AnyPath,
    node: AnyPath | None = None,
    suite: str = "",
    set: Settings | None = None,
    bounds: AnyPath | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
    agree: Agree = lambda effort: None,
) -> Verdict:
    """Predictions beside the measurement records in *files* (left out: the packaged ones), of one
    *suite* if it is given: ``to_frame()`` has a row a suite and metric.
    """
    from c3sim.validation.compare.judge import verdict_of

    with heard(progress, progress_bar) as watcher:
        return verdict_of(
            [str(file) for file in files],
            node=None if node is None else str(node),
            changes=dict(settings_of(set)),
            bounds=None if bounds is None else str(bounds),
            jobs=jobs,
            suite=suite,
            agree=agree,
            progress=watcher,
        )


def _loaded(node: NodeName) -> LoadedNode:
    return node if isinstance(node, LoadedNode) else load_hardware(str(node))
