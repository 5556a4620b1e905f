"""``c3sim upgrade``: hardware files of schema 1, rewritten to schema 2."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from c3sim.cli.emit import emit_json
from c3sim.cli.options import Json


def upgrade(
    files: Annotated[
        list[str], Argument(metavar="FILE...", help="Node and GPU files, or folders of them.")
    ],
    check: Annotated[
        bool, Option("--check", help="Only tell what would change; exit code 1 if anything.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Rewrite hardware files of schema 1 to schema 2, in place; comments and layout stay.

    Fields get their new names, and fits told in words of a source become a field of their own,
    calibrated. Files of schema 2 stay as they are; workloads and records have no schema 2.

    \b
    Examples:
      c3sim upgrade my-gpu.yaml my-node.yaml
      c3sim upgrade --check hardware/
    """
    from pathlib import Path

    from c3sim.kit.files import check_writable, write_text
    from c3sim.spec.reading.upgrade import hardware_files
    from c3sim.spec.reading.upgrade import upgrade as upgraded

    results = [upgraded(file) for file in hardware_files(map(Path, files))]
    changed = [result for result in results if result.changes]
    for result in changed if not check else ():
        check_writable(result.file)
    for result in changed if not check else ():
        write_text(result.file, result.text)
    if as_json:
        emit_json({"files": {str(result.file): result.changes for result in results}})
    else:
        for result in results:
            for change in result.changes or ("is of schema 2 already",):
                typer.echo(f"{result.file}: {change}")
    if check and changed:
        raise typer.Exit(1)
