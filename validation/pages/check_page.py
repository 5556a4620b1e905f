"""The verdict for a service that runs checks: JUnit XML, a summary in Markdown, annotations.

Each says what drifted (a metric of a suite that misses its bound), which numbers may be behind it,
and which calibrations are older than their records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from c3sim.spec.sourced import Leaf

from ..compare.against import Against
from ..compare.scores import SuiteScore
from ..compare.suspects import Suspect, suspects
from ..compare.verdict import Verdict
from ..fit.age import Stale, stale
from .words import SCORE_HEADERS, limit_text, markdown_table, percent, score_texts, verdict_text

MOST = 5  # suspects that are named
SUITE = "c3sim validate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """A score that misses its bound, and what may be behind it, most likely first."""

    score: SuiteScore
    suspects: Sequence[Suspect]

    @property
    def title(self) -> str:
        return f"{self.score.suite} {self.score.metric}"

    @property
    def words(self) -> str:
        """The errors, and the worst case, in words."""
        errors, bound, worst = self.score.errors, self.score.bound, self.score.worst[0]
        limit = f", bound {limit_text(bound.limit)}" if bound else ""
        better = "".join(f"; {rival.words}" for rival in self.score.new_defects)
        return (
            f"median {percent(errors.median)} %, 90th percentile {percent(errors.p90)} %{limit};"
            f" bias {100 * errors.bias:+.1f} %; worst: {worst.name}, {worst.comparison}{better}"
        )

    @property
    def suspicion(self) -> str:
        """The suspects in words; where nothing is known, that."""
        shown = "; ".join(one.words for one in self.suspects[:MOST])
        more = len(self.suspects) - MOST
        return (shown or "none known") + (f"; and {more} more" if more > 0 else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A verdict, what drifted, and the calibrations that are older than their records; what moved
    *against* earlier answers, if it was asked.
    """

    verdict: Verdict
    drifts: Sequence[Drift] = field(default_factory=list)
    stale: Sequence[Stale] = field(default_factory=list)
    against: Against | None = None


def check(verdict: Verdict, against: Against | None = None) -> Check:
    """Look for suspects and old calibrations."""
    return Check(
        verdict=verdict,
        drifts=[
            Drift(score=score, suspects=suspects(score, verdict.nodes)) for score in verdict.missed
        ],
        stale=stale(verdict.nodes.values(), verdict.records),
        against=against,
    )


def to_dict(found: Check) -> dict[str, Any]:
    """Plain data for ``--json``: what drifted, with paths of the suspects, old calibrations, and
    what moved.
    """
    drifted = [
        {
            "suite": each.score.suite,
            "metric": each.score.metric,
            "suspects": [{"path": one.path, "why": one.why} for one in each.suspects],
        }
        for each in found.drifts
    ]
    said = {"drifted": drifted, "old_calibrations": [old.words for old in found.stale]}
    return said | ({"against": found.against.to_dict()} if found.against else {})


def junit(found: Check) -> str:
    """A test case for each suite and metric, and one for all that moved; a calibration older than
    its records is *skipped*.
    """
    scores, missed, against = found.verdict.scores, found.drifts, found.against
    worse = bool(against and not against.passed)
    tests, failures = len(scores) + len(found.stale) + bool(against), len(missed) + worse
    counts = {"tests": tests, "failures": failures, "errors": 0}
    root = ElementTree.Element("testsuites", name=SUITE)
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {"name": SUITE, **{key: str(count) for key, count in counts.items()}}
        | {"skipped": str(len(found.stale))},
    )
    drifted = {drift.title: drift for drift in missed}
    for score in scores:
        drift, errors = drifted.get(f"{score.suite} {score.metric}"), score.errors
        said = (
            f"{verdict_text(score)}: median {percent(errors.median)} %,"
            f" 90th percentile {percent(errors.p90)} %"
        )
        text = f"suspects: {drift.suspicion}" if drift else said
        _case(suite, score.suite, score.metric, text, failure=drift.words if drift else "")
    for old in found.stale:
        _case(suite, "calibration", "+".join(old.suites), skipped=old.words)
    if against:
        text = "\n".join(against.lines) if worse else against.summary
        _case(suite, "against", against.old, text, failure=against.summary if worse else "")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(
    suite: ElementTree.Element,
    group: str,
    name: str,
    text: str = "",
    *,
    failure: str = "",
    skipped: str = "",
) -> None:
    """A test case in *suite*, which says *text*: passed, a *failure*, or *skipped*."""
    case = ElementTree.SubElement(suite, "testcase", classname=group, name=name, time="0")
    message = failure or skipped
    tag = "failure" if failure else "skipped" if skipped else "system-out"
    said = ElementTree.SubElement(case, tag, {"message": message} if message else {})
    said.text = text or None


def summary(found: Check) -> str:
    """A page of Markdown."""
    verdict = found.verdict
    nodes = ", ".join(sorted({loaded.node.name for loaded in verdict.nodes.values()}))
    bounds = f" Bounds: {verdict.bounds_text}." if verdict.passed is not None else ""
    rows = [
        [score.suite, score.metric, *score_texts(score, verdict.bounds)] for score in verdict.scores
    ]
    lines = [
        *(f"# Calibration of {nodes or 'no node'}: {verdict.word}", ""),
        *(f"{verdict.counts}.{bounds} Errors in %.", ""),
        *markdown_table(["suite", "metric", *SCORE_HEADERS], rows),
    ]
    if found.drifts:
        lines += ["## What drifted", ""]
        lines += [
            f"- **{each.title}**: {each.words}. Suspects: {each.suspicion}."
            for each in found.drifts
        ]
        lines += [""]
    if found.stale:
        lines += ["## Calibrations older than their records", ""]
        lines += [f"- {old.words}. `c3sim calibrate` fits them again." for old in found.stale]
    if found.against:
        lines += ["", "## What moved", "", f"{found.against.summary}.", ""]
        lines += [f"- {line}" for line in found.against.lines]
    return "\n".join(lines) + "\n"


def workflow_commands(found: Check) -> Iterator[str]:
    """Workflow commands of GitHub: an error for each drift, at its first suspect's line if that
    file lies below the present folder; a warning for each old calibration; an error where figures
    got worse than they were.
    """
    for drift in found.drifts:
        where = drift.suspects[0].leaf if drift.suspects else None
        text = f"{drift.words}. Suspects: {drift.suspicion}"
        yield _command("error", f"{drift.title} drifted", text, where)
    for old in found.stale:
        first = next(iter(old.leaves.values()), None)
        title = f"calibration of {'+'.join(old.suites)} is older than its records"
        yield _command("warning", title, old.words, first)
    if found.against and not found.against.passed:
        yield _command("error", "figures got worse", found.against.summary, None)


def _command(level: str, title: str, text: str, leaf: Leaf | None) -> str:
    fields: Mapping[str, str] = {**_place(leaf), "title": title}
    shown = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in fields.items())
    return f"::{level} {shown}::{_escaped(text)}"


def _place(leaf: Leaf | None) -> dict[str, str]:
    """File and line of *leaf*, from the present folder."""
    file = Path(leaf.file).resolve() if leaf else None
    if leaf is None or file is None or not file.is_relative_to(Path.cwd()):
        return {}
    return {"file": file.relative_to(Path.cwd()).as_posix(), "line": str(leaf.line)}


def _escaped(text: str, more: str = "") -> str:
    for letter in "%\r\n" + more:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text
