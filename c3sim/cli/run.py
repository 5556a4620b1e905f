"""``c3sim run``: one workload under one strategy."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from c3sim.cli.against import Against, Given, compared, other_of, side_of
from c3sim.cli.consent import Yes, agree_to_iteration, agree_to_run, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.measured import Measured, calibrate
from c3sim.cli.measured import band as band_of_what_if
from c3sim.cli.options import (
    MOST_TRIALS,
    Jobs,
    Json,
    NodeName,
    Settings,
    StrategyName,
    WorkloadName,
    settings,
)
from c3sim.cli.pages import PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from c3sim.evaluation.differences import Differences
    from c3sim.evaluation.effort import Effort
    from c3sim.evaluation.limiter import Limit
    from c3sim.experiments.bands import Band
    from c3sim.iterations.result import IterationResult
    from c3sim.result import Result


CHAKRA = ".et"


def run(
    workload: WorkloadName,
    node: NodeName = None,
    strategy: StrategyName = "as_written",
    set_: Settings = None,
    trace: Annotated[
        str | None,
        Option(metavar="FILE", help="Write a trace for ui.perfetto.dev; .et: Chakra, one a rank."),
    ] = None,
    plot: Annotated[
        str | None,
        Option(metavar="FILE", help="Write a picture: .png, .svg or .pdf; .html: with zoom."),
    ] = None,
    uncertainty: Annotated[
        bool,
        Option(
            "--uncertainty",
            help="The band that the intervals of the node's parameters leave; many runs.",
        ),
    ] = False,
    samples: Annotated[
        int,
        Option(
            min=2,
            max=MOST_TRIALS,
            help="Of --uncertainty, as --band-samples of 'c3sim sensitivity'.",
        ),
    ] = 256,
    seed: Annotated[int, Option(min=0, help="Of --uncertainty: the same seed, the same band.")] = 1,
    limits: Annotated[
        bool, Option("--limits", help="With --json too: what binds the wall time, under 'limit'.")
    ] = False,
    against: Against = None,
    measured: Measured = None,
    jobs: Jobs = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run WORKLOAD once: times of every task, alone and together; of an iteration, by class. The
    last line says what binds the wall time.

    \b
    Examples:
      c3sim run gemm-beside-all-gather
      c3sim run gemm-beside-all-gather --strategy rp:32 --plot timeline.png
      c3sim run llama3-70b-o --set task.gather.size='1 GiB' --strategy sp
      c3sim run my-workload.yaml --node teaching-4 --trace run.pftrace --json
      c3sim run llama3-8b-training --node h200-8 --trace step.et
      c3sim run gemm-beside-all-gather --strategy conccl --uncertainty
      c3sim run llama3-8b-training --node h200-8 --set batch=2
      c3sim run llama3-70b-o --set links.bandwidth='60 GB/s' --against unset
      c3sim run my-job.yaml --measured traces/ --set links.bandwidth='10.5 GB/s'
    """
    changes, agree = settings(set_), agreeing(yes)
    _check_files(trace, plot)
    from c3sim.api import prepare
    from c3sim.experiments.copying import together_by
    from c3sim.spec.reading.loading import is_iteration

    if is_iteration(workload):
        agree_to_iteration(agree, workload, node, changes)
    else:
        agree_to_run(agree, *prepare(workload, node, changes))
    given = Given(workload=workload, node=node, strategy=strategy, settings=changes)
    if measured:
        given = replace(given, calibrated=calibrate(given, measured))
    together = partial(together_by, jobs) if is_iteration(workload) else nullcontext
    with together():
        result = _simulated(given, trace=bool(trace or plot))
    if trace and trace.endswith(CHAKRA):
        _export(given, trace)
    elif trace and result.trace is not None:
        from c3sim.output.trace import write_perfetto

        write_perfetto(result.trace, trace)
        say(f"wrote {trace}; open it at https://ui.perfetto.dev")
    if plot:
        _draw(result, plot)
    answers = Answers(given, result, together)
    if uncertainty and given.calibrated:
        answers.near = band_of_what_if(given.calibrated, given)
    elif uncertainty:
        answers.band = _band(workload, node, strategy, changes, samples, seed, agree)
    if against:
        before, saved = other_of(given, against)
        answers.differences = compared(before, given, saved, result.to_dict(), agree)
    if as_json:
        more = {"limit": _limit(answers)} if limits else {}
        emit_json(answers.to_dict() | more)
    else:
        _show(answers)


@dataclass
class Answers:
    """The *result* of what was *given*, and answers to the questions that were asked of it. Runs
    within *together* go side by side.
    """

    given: Given
    result: Result | IterationResult
    together: Callable[[], AbstractContextManager[None]]
    band: Band | None = None
    near: tuple[dict[str, float], int] | None = None
    differences: Differences | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain data, as ``--json`` prints it."""
        calibrated = self.given.calibrated
        more: dict[str, object] = {"given": self.given.to_dict()}
        more |= {"uncertainty": self.band.to_dict()} if self.band else {}
        more |= {"measured": calibrated.to_dict()} if calibrated else {}
        more |= {"within": self.near[0]} if self.near else {}
        more |= {"against": self.differences.to_dict()} if self.differences else {}
        return self.result.to_dict() | more


def _simulated(given: Given, *, trace: bool) -> Result | IterationResult:
    from c3sim.api import run as simulate
    from c3sim.cli.progress import working
    from c3sim.iterations.described import evaluate

    with working("simulating"):
        if given.calibrated:
            side = side_of(given)
            return evaluate(side.workload, side.node.node, given.strategy, trace=trace)
        return simulate(
            given.workload,
            node=given.node,
            strategy=given.strategy,
            set=given.settings,
            trace=trace,
        )


def _export(given: Given, path: str) -> None:
    """Write Chakra traces of what was *given*."""
    from c3sim.api import export_trace
    from c3sim.cli.progress import working
    from c3sim.errors import InputError

    if given.calibrated:
        raise InputError("a job that was measured has no Chakra trace", "--trace", path)
    with working("simulating every layer"):
        files = export_trace(
            given.workload, path, node=given.node, strategy=given.strategy, set=given.settings
        )
    say(f"wrote {files[0]} to {files[-1].name}, one a rank")


def _show(answers: Answers) -> None:
    """Print the tables, and the line that says what binds the wall time."""
    from c3sim.cli.progress import working
    from c3sim.experiments.outputs import read_output
    from c3sim.iterations.limits import limit_line
    from c3sim.iterations.result import IterationResult
    from c3sim.kit.layout import show
    from c3sim.output.tables.run import iteration_table, run_table

    given, result = answers.given, answers.result
    show(iteration_table(result) if isinstance(result, IterationResult) else run_table(result))
    if given.calibrated:
        from c3sim.output.tables.measured import measured_table

        asked = bool(given.settings) or given.strategy != "as_written"
        wall, near = result.wall_s if asked else None, answers.near or ({}, 0)
        show(measured_table(given.calibrated, wall, near))
    if answers.differences:
        from c3sim.output.tables.differences import differences_table

        show(differences_table(answers.differences))
    sys.stdout.flush()  # to be read meanwhile
    with working("what binds"):
        limit = _found_limit(answers)
    show(limit_line(limit))
    if answers.band:
        from c3sim.output.tables.sensitivity import band_table

        band = answers.band
        show(band_table(band, {name: read_output(result, name) for name in band.outputs}))


def _limit(answers: Answers) -> Mapping[str, object]:
    """The limit of the wall time, as plain data."""
    from c3sim.evaluation.limiter import Limit

    found = _found_limit(answers)
    return found.to_dict() if isinstance(found, Limit) else found


def _found_limit(answers: Answers) -> Limit | dict[str, float]:
    from c3sim.iterations.limits import limit_of_run

    given, side = answers.given, side_of(answers.given)
    with answers.together():
        return limit_of_run(side.workload, side.node.node, given.strategy, answers.result.wall_s)


def _draw(result: Result, path: str) -> None:
    """The timeline of *result*, as a picture or, by its suffix, a page."""
    from c3sim.cli.progress import working

    if path.lower().endswith(PAGES):
        from c3sim.output.page import write_run

        with working("drawing"):
            write_run(result, path)
        say(f"wrote {path}; open it in a browser")
        return
    from c3sim.output.pictures.timeline import plot_timeline

    with working("drawing"):
        plot_timeline(result, path)
    say(f"wrote {path}")


def _band(
    workload: str,
    node: str | None,
    strategy: str,
    changes: Mapping[str, object],
    samples: int,
    seed: int,
    agree: Callable[[Effort], None],
) -> Band:
    """The band of the prediction; parameters that are set by hand keep their value."""
    from dataclasses import replace

    from c3sim.api import prepare
    from c3sim.cli.progress import sweep_progress
    from c3sim.experiments.bands import uncertainty
    from c3sim.experiments.jobs import Workers
    from c3sim.spec.reading.loading import load_hardware
    from c3sim.spec.reading.paths import canonical

    plain, on = prepare(workload, node, changes)
    loaded = load_hardware(node or plain.node)
    held = replace(loaded, node=on)
    kept = {canonical(path) for path in changes}
    with sweep_progress("samples") as watcher:
        return uncertainty(
            plain,
            held,
            strategy,
            samples=samples,
            seed=seed,
            but=kept,
            workers=Workers(jobs=1, agree=agree),
            watcher=watcher,
        )


def _check_files(trace: str | None, plot: str | None) -> None:
    """Raises InputError where one of both files cannot be written."""
    from pathlib import Path

    from c3sim.errors import InputError
    from c3sim.kit.files import check_writable
    from c3sim.kit.look import SUFFIXES

    if trace:
        check_writable(trace)
    if plot:
        check_writable(plot, (*SUFFIXES, *PAGES))
    if trace and plot and Path(trace).resolve() == Path(plot).resolve():
        raise InputError("trace and picture would be the same file; name two files", "--plot", plot)
