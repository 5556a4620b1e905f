"""``c3sim schema``: JSON Schema of a kind of file."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from c3sim.cli import complete
from c3sim.cli.emit import emit_json


def schema(
    kind: Annotated[
        str,
        Argument(
            metavar="KIND",
            help="node, gpu, workload, iteration, study, model or record.",
            autocompletion=complete.kinds,
        ),
    ],
    as_json: Annotated[bool, Option("--json", help="As always: a schema is JSON.")] = False,
) -> None:
    """Print the JSON Schema of a KIND of file, for editors that complete and check.

    \b
    Examples:
      c3sim schema workload > workload.schema.json
      c3sim schema node
    """
    from c3sim.spec.reading.schemas import json_schema

    emit_json(json_schema(kind))
