"""``c3sim explain``: where the time went."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from c3sim.cli.against import Against, Given, band_between, other_of
from c3sim.cli.consent import Yes, agree_to_run, agreeing
from c3sim.cli.emit import emit_json
from c3sim.cli.options import Jobs, Json, NodeName, Settings, StrategyName, WorkloadName, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from c3sim.evaluation.differences import Differences
    from c3sim.evaluation.effort import Effort
    from c3sim.evaluation.limiter import Limit
    from c3sim.evaluation.shares import Progress
    from c3sim.iterations.result import StepTimes
    from c3sim.spec.hardware import Node
    from c3sim.spec.iteration import Described
    from c3sim.spec.workload import Workload


def explain(
    workload: WorkloadName,
    node: NodeName = None,
    strategy: StrategyName = "as_written",
    set_: Settings = None,
    against: Against = None,
    full: Annotated[
        bool, Option("--full", help="Of an iteration: all orders of causes, and what binds next.")
    ] = False,
    jobs: Jobs = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Split the slowdown of each task of WORKLOAD by cause; of an iteration its wall time, the
    exposed communication, and the time of each operator class.

    Of an iteration where the time of the step goes as it is comes first, before any other run.

    The run is repeated with kinds of sharing taken away. The share of a cause is its mean effect
    over all orders in which the kinds can be added, so causes that interact share the effect. Of an
    iteration it is the mean of being added first and last; what several do only together stands by
    itself, unless --full shares it too.

    Then what binds the wall time, each task (among the others, and alone) and each operator class:
    the number of the node that the time follows most where it is moved, and the one that binds next
    (of an iteration with --full) and from how many times on. Both are found by simulating with
    numbers moved.

    \b
    Examples:
      c3sim explain gemm-beside-all-gather
      c3sim explain gemm-beside-all-gather --strategy conccl
      c3sim explain llama3-8b-training --set 'tasks[kind=collective].channels=8'
      c3sim explain llama3-70b-training --full
      c3sim explain gemm-beside-all-gather --set task.gather.channels=16 --json
      c3sim explain gemm-beside-all-gather --against links.bandwidth='60 GB/s'
    """
    changes = settings(set_)
    from c3sim.api import explain as explain_run
    from c3sim.api import prepare
    from c3sim.cli.progress import progress
    from c3sim.experiments.ahead import AheadOfEach
    from c3sim.experiments.copying import processes
    from c3sim.iterations.limits import results_behind
    from c3sim.output.tables.run import explain_table
    from c3sim.spec.iteration import Described

    plain, on = prepare(workload, node, changes)
    agree = agreeing(yes)
    jobs = processes(jobs) if isinstance(plain, Described) else 1
    agree_to_run(agree, plain, on, results_behind(plain, full=full), jobs)
    how: dict[str, Any] = {"strategy": strategy, "full": full}
    if isinstance(plain, Described) and not as_json:  # causes take ten times as long
        _show(_step(plain, on, strategy, jobs))
    with progress() as tell:
        watcher = AheadOfEach(agree, tell)
        found = explain_run(plain, node=on, progress=watcher, jobs=jobs, **how)
    if not as_json:  # what binds takes as long again
        _show(explain_table(found.to_dict()))
    with progress() as tell:
        watcher = AheadOfEach(agree, tell)
        limits = _limits(plain, on, watcher, jobs, **how)
        explanation = replace(found, limits=limits).to_dict()
        given = Given(workload=workload, node=node, strategy=strategy, settings=changes)
        differences = _against(given, explanation, against, agree, watcher, full=full)
    if as_json:
        emit_json(explanation | ({"against": differences.to_dict()} if differences else {}))
        return
    from c3sim.output.tables.limits import limits_table

    _show(limits_table(limits))
    if differences:
        from c3sim.output.tables.differences import differences_table

        _show(differences_table(differences))


def _step(plain: Described, on: Node, strategy: str, jobs: int) -> Any:
    """Table of the step as it is, as an earlier command found it."""
    from c3sim.experiments.copying import together_by
    from c3sim.experiments.kept import answered
    from c3sim.iterations.described import step
    from c3sim.output.tables.run import step_table

    def found() -> StepTimes:
        with together_by(jobs):
            return step(plain, on, strategy)

    return step_table(answered(("step", plain, on, strategy), found))


def _limits(
    plain: Workload, on: Node, watcher: Progress, jobs: int, *, strategy: str, full: bool
) -> dict[str, Limit]:
    """What binds each time of *plain*, of a step as an earlier command found it."""
    from c3sim.experiments.copying import copies
    from c3sim.experiments.kept import answered
    from c3sim.iterations.limits import limits_of
    from c3sim.spec.iteration import Described

    def found() -> dict[str, Limit]:
        return limits_of(plain, on, strategy, watcher, full=full, each=copies(jobs))

    asked = ("limits", plain, on, strategy, full)
    return answered(asked, found) if isinstance(plain, Described) else found()


def _show(table: Any) -> None:
    from c3sim.kit.layout import show

    show(table)
    sys.stdout.flush()  # at once, where it goes into a file


def _against(
    given: Given,
    explanation: Mapping[str, Any],
    texts: list[str] | None,
    agree: Callable[[Effort], None],
    tell: Progress,
    *,
    full: bool,
) -> Differences | None:
    """The change from the run that ``--against`` names, by the causes of both explanations."""
    if not texts:
        return None
    from c3sim.api import explain as explain_run
    from c3sim.cli.against import about
    from c3sim.evaluation.differences import Differences, of_explanations

    other, _ = other_of(given, texts)
    before = explain_run(
        other.workload,
        node=other.node,
        strategy=other.strategy,
        set=other.settings,
        full=full,
        progress=tell,
    ).to_dict()
    band, draws = band_between(other, given, agree)
    times = of_explanations(before, explanation)
    return Differences(about=about(other, given), times=times, band=band, draws=draws)
