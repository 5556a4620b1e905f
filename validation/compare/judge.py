"""Files of records, read, predicted on their nodes and judged: what ``c3sim validate`` asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from c3sim.errors import InputError
from c3sim.spec.record import Record

from .bounds import FILE, load_bounds
from .effort import PREDICT_S, effort_of_lines, effort_of_measurements, own_files
from .measurements import merge
from .record_files import are_packaged, load, nodes_for
from .verdict import Verdict, validate

if TYPE_CHECKING:
    from c3sim.evaluation.effort import Agree
    from c3sim.evaluation.shares import Progress


def verdict_of(
    files: Sequence[str],
    *,
    node: str | None,
    changes: Mapping[str, object],
    bounds: str | None,
    jobs: int,
    suite: str,
    agree: Agree,
    progress: Progress | None,
) -> Verdict:
    """The verdict on the records in *files*, or the packaged ones, of one *suite* or of all ("").
    Records of somebody's own are judged by *bounds* of their own alone. Raises InputError(s).
    """
    limits = load_bounds(bounds or FILE)
    if bounds is None and not are_packaged(files):
        limits = limits.for_own_records()
    tell = progress or (lambda *_: None)
    own = own_files(files)
    agree(effort_of_lines(own, PREDICT_S, jobs))
    records = _of_suite(load(files, suite, partial(tell, "files of records")), suite)
    nodes = nodes_for(records, node, changes)
    if own:
        added = merge(_of_suite(load(own), suite, of_many=True))
        specs = {name: loaded.node for name, loaded in nodes.items()}
        agree(effort_of_measurements(added, specs, jobs))
    done, total = 0, len(merge(records))
    tell("records", done, total)

    def advance(count: int) -> None:
        nonlocal done
        done += count
        tell("records", done, total)

    return validate(records, nodes, bounds=limits, jobs=jobs, progress=advance)


def _of_suite(records: Sequence[Record], suite: str, *, of_many: bool = False) -> list[Record]:
    """Records of *suite*; all where it is empty. Raises InputError for one that has no record,
    unless *records* are some *of many*.
    """
    found = [record for record in records if suite in ("", record.suite)]
    if not found and suite and not of_many:
        from c3sim.spec.words import unknown

        known = sorted({record.suite for record in records})
        raise InputError(unknown("suite", suite, known), "--suite")
    return found
