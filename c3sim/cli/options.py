"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from c3sim.cli import complete

if TYPE_CHECKING:
    from c3sim.spec.reading.settings import Settings as SetValues

MOST_TRIALS = 1_000_000  # runs of a search or a band, as in spec/quantities.py

WorkloadName = Annotated[
    str,
    Argument(
        metavar="WORKLOAD",
        help="Name of a workload, or path of its YAML file.",
        autocompletion=complete.workloads,
    ),
]
StudyName = Annotated[
    str,
    Argument(
        metavar="STUDY",
        help="Name of a study, or path of its YAML file.",
        autocompletion=complete.studies,
    ),
]
NodeName = Annotated[
    str | None,
    Option(
        metavar="NODE",
        help="Name or file of a node. Left out: the workload's own.",
        autocompletion=complete.nodes,
    ),
]
StrategyName = Annotated[
    str,
    Option(
        metavar="STRATEGY",
        help="One of 'c3sim list strategies'; rp:32 gives a number.",
        autocompletion=complete.strategy,
    ),
]
Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="PATH=VALUE|FILE",
        help="Set one value of node or workload, as in links.bandwidth='96 GB/s', or those of a"
        " .yaml FILE; may be repeated.",
    ),
]
Json = Annotated[bool, Option("--json", help="Print one JSON document instead of tables.")]
Plot = Annotated[str | None, Option(metavar="FILE", help="Write a picture: .png, .svg or .pdf.")]
Report = Annotated[str | None, Option(metavar="FILE.html", help="Write a page to look at.")]
Jobs = Annotated[
    int | None,
    Option(min=1, max=1024, metavar="N", help="Processes. Left out: all cores, where it pays."),
]


def settings(given: Sequence[str] | None) -> SetValues:
    """Settings of ``--set``. Raises InputError(s)."""
    from c3sim.spec.reading.settings import parse_settings

    return parse_settings(given or ())
