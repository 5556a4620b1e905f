"""``c3sim validate --coverage``: what measurements see of each number of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from c3sim.cli.emit import emit_json
from c3sim.cli.progress import progress
from c3sim.errors import InputError
from c3sim.evaluation.effort import Agree, Effort


def show_coverage(
    files: Sequence[str],
    only: str,
    jobs: int,
    as_json: bool,
    given: Mapping[str, object],
    agree: Agree,
) -> None:
    """Run it and print a row per number. *given*: options that do not go with it; *agree* is told
    what is ahead. Raises InputError.
    """
    from c3sim.kit.layout import show
    from c3sim.validation.compare.coverage_suite import coverage, predictions
    from c3sim.validation.compare.effort import PREDICT_S, cores, effort_of_lines, own_files
    from c3sim.validation.pages.terminal_page import coverage_table

    for option, value in given.items():
        if value is not None:
            raise InputError("it does not go with --coverage; leave it out", option, str(value))
    agree(effort_of_lines(own_files(files), 0.0, jobs))
    agree(Effort(predictions(files, only) * PREDICT_S / cores(jobs), 0.0))
    with progress() as watcher:
        sights = coverage(files, only, jobs, lambda done, total: watcher("parts", done, total))
    if as_json:
        rows = [
            {"path": each.number.path, "nodes": list(each.number.nodes), **each.to_dict()}
            for each in sights
        ]
        emit_json({"numbers": rows})
    else:
        show(coverage_table(sights))
