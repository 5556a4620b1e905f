"""Writes the interactive page of a table of results, for ``sweep --report`` and ``plot --out``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from c3sim.cli.emit import say
from c3sim.cli.progress import progress

if TYPE_CHECKING:
    from c3sim.output.results.table import ResultTable

PAGES = (".html", ".htm")


def write_page(results: ResultTable | Path, path: str, jobs: int | None = None) -> None:
    """Write the page of *results*, a table or the folder of a sweep, to *path*."""
    from c3sim.output.page import write_report

    command = shlex.join(["c3sim", *sys.argv[1:]])
    with progress() as watcher:
        write_report(results, path, command=command, jobs=jobs, watcher=watcher)
    say(f"wrote {path}; open it in a browser")
