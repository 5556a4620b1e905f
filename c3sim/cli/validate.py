"""``c3sim validate``: predictions beside measurements, and a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.guard import FAILED
from c3sim.cli.options import Json, NodeName, Report, Settings, settings
from c3sim.cli.pages import PAGES
from c3sim.errors import InputError

if TYPE_CHECKING:
    from c3sim.validation.pages.check_page import Check


def validate(
    files: Annotated[
        list[str] | None,
        Argument(
            metavar="[FILE|DIR]...",
            help="Record files, or folders of them. Left out: the packaged records.",
        ),
    ] = None,
    node: NodeName = None,
    set_: Settings = None,
    bounds: Annotated[
        str | None, Option(metavar="FILE", help="Bounds other than the packaged ones.")
    ] = None,
    against: Annotated[
        str | None,
        Option(
            metavar="OLD",
            help="Fail where a figure got worse or was lost since OLD: what --json printed, or a"
            " folder of golden figures.",
        ),
    ] = None,
    accept: Annotated[
        str | None,
        Option(metavar="FILE", help="With --against: figures that may get worse, and why."),
    ] = None,
    report: Report = None,
    junit: Annotated[
        str | None, Option(metavar="FILE", help="Write JUnit XML: a test for each metric.")
    ] = None,
    summary: Annotated[
        str | None,
        Option(metavar="FILE", help="Write Markdown: what drifted, and what may be behind it."),
    ] = None,
    annotate: Annotated[
        bool, Option("--annotate", help="Print annotations for a GitHub workflow.")
    ] = False,
    worst: Annotated[
        int, Option(min=0, help="Worst cases to explain, of each suite and metric.")
    ] = 1,
    suite: Annotated[
        str, Option(metavar="NAME", help="Compare the records of this suite alone.")
    ] = "",
    coverage: Annotated[
        bool,
        Option(
            "--coverage",
            help="Scale each number of the nodes by 0.7 and 1.4, and say which suites notice.",
        ),
    ] = False,
    only: Annotated[
        str, Option(metavar="PATH", help="Of --coverage: numbers at or below this path alone.")
    ] = "",
    jobs: Annotated[int, Option(min=0, help="Processes; 0 for as many as there are cores.")] = 0,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Predict every measurement record and compare; exit code 1 when a bound is missed, or a
    figure is worse than in --against.

    A record is one JSON line ('c3sim schema record'). Records of your own are compared, and judged
    only by bounds of your own (--bounds).
    Lines with one id are repeats of one measurement: compared once, by their mean, with the spread
    between them beside the error.

    \b
    Examples:
      c3sim validate                                       the packaged records
      c3sim validate mine.jsonl --report mine.html
      c3sim validate records --node mine.yaml --bounds bounds.yaml --junit out.xml
      c3sim validate --suite h200_loops
      c3sim validate mine.jsonl --json > old.json
      c3sim validate mine.jsonl --against old.json --accept worse.yaml
      c3sim validate --set gpu.hbm.bandwidth='3.7 TB/s'    does it notice?
      c3sim validate --coverage --only gpu.hbm             which suites notice?
    """
    if coverage:
        from c3sim.cli.coverage import show_coverage

        given: dict[str, object] = {"--node": node, "--set": set_, "--bounds": bounds}
        given |= {"--report": report, "--junit": junit, "--summary": summary}
        given |= {"--annotate": annotate or None, "--against": against, "--accept": accept}
        show_coverage(files or [], only, jobs, as_json, given, agreeing(yes))
        return
    _check_together(only, accept, against)
    from c3sim.cli.progress import progress
    from c3sim.validation.compare.against import Before
    from c3sim.validation.compare.explain import explain_worst
    from c3sim.validation.compare.judge import verdict_of
    from c3sim.validation.pages import check_page, write_report
    from c3sim.validation.pages.terminal_page import print_verdict

    _check_files(report, junit, summary)
    before = Before.read(against, accept) if against else None
    with progress() as watcher:
        verdict = verdict_of(
            files or [],
            node=node,
            changes=settings(set_),
            bounds=bounds,
            jobs=jobs,
            suite=suite,
            agree=agreeing(yes),
            progress=watcher,
        )
    if report is not None:
        write_report(verdict, report)
    found = check_page.check(verdict, before.against(verdict, suite) if before else None)
    if as_json:
        emit_json({**verdict.to_dict(explain_worst(verdict, worst)), **check_page.to_dict(found)})
    else:
        print_verdict(verdict, worst)
    _tell(found, junit, summary, annotate)
    if verdict.passed is False or (found.against and not found.against.passed):
        raise typer.Exit(FAILED)


def _check_together(only: str, accept: str | None, against: str | None) -> None:
    """Raises InputError for an option without the one that it belongs to."""
    if only:
        raise InputError("it belongs to --coverage; add that, or leave it out", "--only", only)
    if accept and not against:
        raise InputError("it belongs to --against; add that, or leave it out", "--accept", accept)


def _check_files(report: str | None, *files: str | None) -> None:
    """Raises InputError for a file that cannot be written."""
    from c3sim.kit.files import check_writable

    if report is not None:
        check_writable(report, PAGES)
    for file in filter(None, files):
        check_writable(file)


def _tell(found: Check, junit: str | None, summary: str | None, annotate: bool) -> None:
    """Say what drifted and which calibrations are old; write what a service of checks reads."""
    from c3sim.kit.files import write_text
    from c3sim.validation.pages import check_page

    for drift in found.drifts:
        score = drift.score
        if score.new_defects:
            names = ", ".join(rival.predictor for rival in score.new_defects)
            say(f"suite {score.suite}: {score.metric} is predicted better by {names}")
        if score.bound and not score.errors.within(score.bound.limit):
            say(f"suite {score.suite}: {score.metric} misses its bound")
        say(f"  suspects: {drift.suspicion}")
    for old in found.stale:
        say(f"warning: {old.words}")
    for line in (found.against.summary, *found.against.lines) if found.against else ():
        say(line)
    if junit is not None:
        write_text(junit, check_page.junit(found))
    if summary is not None:
        write_text(summary, check_page.summary(found))
    for line in check_page.workflow_commands(found) if annotate else ():
        say(line)
