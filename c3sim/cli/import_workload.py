"""``c3sim import --as workload``: an iteration of a profiler trace becomes a workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from c3sim.cli.consent import agreeing
from c3sim.cli.emit import emit_json, say

if TYPE_CHECKING:
    from c3sim.importers.workloads.imported import Imported


def import_workload(
    files: list[Path],
    node: str,
    iteration: int | None,
    out: Path | None,
    trace: str | None,
    as_json: bool,
    *,
    side: Path | None = None,
    other: str | None = None,
    yes: bool = False,
) -> None:
    """Write the workload, translated to the node *other* if one is given, and, into *trace*, the
    original beside its replay; say what was guessed and how far the replay is off.
    """
    from c3sim.kit.files import check_writable, write_text

    for path in (out, trace):
        if path is not None:
            check_writable(path)
    found = _imported(
        files, node, iteration, side=side, other=other, trace=trace is not None, yes=yes
    )
    if out is not None:
        write_text(out, found.text)
    elif not as_json:
        typer.echo(found.text, nl=False)
    if trace is not None and not found.built.timed:
        say(f"the trace has no times to show beside the replay: {trace} has the replay alone")
    if trace is not None:
        _write_trace(found, trace)
    for line in _remarks(found, out):
        say(line)
    if as_json:
        emit_json(_summary(found, out))


def _imported(
    files: list[Path],
    node: str,
    iteration: int | None,
    *,
    side: Path | None,
    other: str | None,
    trace: bool,
    yes: bool,
) -> Imported:
    from c3sim.cli.progress import working
    from c3sim.importers import import_iteration
    from c3sim.spec.reading.loading import load_node

    on = load_node(node)
    to = None if other is None else load_node(other)
    with working("reading, and running it again") as shown:
        agree = shown.aside(agreeing(yes))
        return import_iteration(
            files, on, iteration, side=side, trace=trace, large=yes, agree=agree, other=to
        )


def _write_trace(found: Imported, path: str) -> None:
    from c3sim.importers.workloads.imported import beside
    from c3sim.output.trace import write_perfetto

    write_perfetto(beside(found.built, found.replay), path)
    say(f"wrote {path}; open it at https://ui.perfetto.dev")


def _remarks(found: Imported, out: Path | None) -> list[str]:
    first, *lines = found.lines()
    return [f"{out}: {first}" if out is not None else first, *lines]


def _summary(found: Imported, out: Path | None) -> dict[str, Any]:
    built, replay = found.built, found.replay
    return {
        "iteration": built.iteration,
        "tasks": len(built.workload["tasks"]),
        "wall_s": 1e-6 * built.wall if built.timed else None,
        "exposed_s": 1e-6 * built.exposed if built.timed else None,
        "replay_s": 1e-6 * replay.wall,
        "error": replay.error if built.timed else None,
        "translated_s": None if found.moved is None else 1e-6 * found.moved,
        "guessed": list(built.guesses),
        "apart": [
            {
                "kernel": each.name,
                "count": each.count,
                "trace_s": 1e-6 * each.trace,
                "replay_s": 1e-6 * each.replay,
            }
            for each in replay.apart
        ],
        "out": None if out is None else str(out),
    }
