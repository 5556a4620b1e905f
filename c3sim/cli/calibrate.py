"""``c3sim calibrate``: the free parameters of a node, fitted to isolated runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Argument, Option

from c3sim.cli import complete
from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json


def calibrate(
    node: Annotated[
        str, Argument(metavar="NODE", help="Name or file of a node.", autocompletion=complete.nodes)
    ],
    data: Annotated[
        list[str] | None,
        Option(
            metavar="FILE|DIR",
            help="Records to fit to; may be repeated. Left out: the packaged ones.",
        ),
    ] = None,
    only: Annotated[str, Option(metavar="SUITE", help="Only what is fitted to this suite.")] = "",
    write: Annotated[
        bool, Option("--write", help="Put values and provenance into the files of the node.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Fit the free parameters of NODE, those that say calibrated or fitted, to calibration records
    of isolated runs.

    Prints YAML with provenance on standard output, tables on standard error. Parameters that the
    data cannot tell keep their value and interval. Records with role validation are never used.

    \b
    Examples:
      c3sim calibrate mi300x-8                        as the committed values
      c3sim calibrate mine.yaml --data runs/ --only gemm_cu_sweep
      c3sim calibrate mine.yaml --data runs/ --write  change the files in place
    """
    from datetime import UTC, datetime
    from functools import partial

    from c3sim.cli.progress import progress
    from c3sim.validation.compare.effort import effort_of_lines, own_files
    from c3sim.validation.compare.record_files import load
    from c3sim.validation.fit.calibrate import calibrate as fit_groups
    from c3sim.validation.fit.calibration import to_dict, to_yaml

    own, agree = own_files(data or []), agreeing(yes)
    agree(effort_of_lines(own, 0.0, jobs=1))
    with progress() as tell:
        records = load(data or [], told=partial(tell, "files of records"))
        found: Any = fit_groups(
            node,
            records,
            only,
            lambda _, number, total: tell("groups", number, total),
            agree if own else None,  # fits to the packaged records are known
        )
    date = datetime.now(UTC).date().isoformat()
    if as_json:
        emit_json(to_dict(found, date))
    else:
        from c3sim.validation.fit.calibration import print_calibration

        print_calibration(found)
        typer.echo(to_yaml(found, date), nl=False)
    if write:
        from c3sim.validation.fit.calibration import write_calibration

        for file in write_calibration(found, node, date):
            say(f"written: {file}")
