"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from c3sim.cli import complete
from c3sim.errors import InputError

WorkloadName = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="Name of a workload, or path of its YAML file.",
        autocompletion=complete.workloads,
    ),
]
NodeName = Annotated[
    str | None,
    typer.Option(
        "--node",
        metavar="NODE",
        help="Name or file of a node. Left out: the workload's own.",
        autocompletion=complete.nodes,
    ),
]
StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy",
        metavar="STRATEGY",
        help="One of 'c3sim list strategies'; rp:32 gives a number.",
        autocompletion=complete.strategy,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set one value of node or workload, as in links.bandwidth='96 GB/s'; may be repeated.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Plot = Annotated[
    str | None, typer.Option("--plot", metavar="FILE", help="Write a picture: .png, .svg or .pdf.")
]


def settings(given: Sequence[str] | None) -> dict[str, str]:
    """``PATH=VALUE`` texts as a mapping. Raises InputError."""
    found: dict[str, str] = {}
    for text in given or ():
        path, equals, value = (part.strip() for part in text.partition("="))
        if not (path and equals and value):
            raise InputError(
                f"{text!r} is not a setting; write PATH=VALUE, as in task.gather.channels=16",
                "--set",
            )
        if path in found:
            raise InputError(
                f"{path!r} is set twice, to {found[path]!r} and {value!r}; set it once", "--set"
            )
        found[path] = value
    return found
