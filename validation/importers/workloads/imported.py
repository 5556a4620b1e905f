"""From the files of traces to a checked workload and its replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from c3sim.errors import InputError
from c3sim.evaluation.effort import Effort, effort_of
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.checks.workload import check_workload
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

from ..files import read_log
from .build import Built, build
from .power import at_power_limit, loop_after, shorten
from .replay import Replay, replay
from .text import workload_text
from .trace import read_trace

ENDINGS = (".json", ".json.gz")


@dataclass(frozen=True, kw_only=True)
class Imported:
    """*text*: the YAML file."""

    built: Built
    workload: Workload
    text: str
    replay: Replay


def import_iteration(
    paths: Sequence[Path],
    node: Node,
    wanted: int | None,
    *,
    trace: bool = False,
    large: bool = False,
    agree: Callable[[Effort], None] = lambda effort: None,
) -> Imported:
    """One iteration of the traces in *paths*: files, or folders of them; *trace*: keep the
    timeline of the replay; *large*: read long files too; *agree* is told what the replay takes, and
    raises where that is too much. Raises InputError or InputErrors.
    """
    files = trace_files(paths)
    traces = [read_trace(read_log(path, large=large)[0], path.name) for path in files]
    ranks = [each.rank for each in traces]
    if len(set(ranks)) < len(ranks):
        numbers = ", ".join(str(rank) for rank in ranks)
        raise InputError(f"got traces of ranks {numbers}; must be one of each rank of one job")
    built = build(sorted(traces, key=lambda each: each.rank), node, wanted)
    workload = _checked(built, node)
    agree(effort_of(workload, node))
    found = replay(built, workload, node, trace=trace)
    if built.before and at_power_limit(found.run, node):
        if built.earliest:
            built.workload["host"]["loop"] = loop_after(built.earliest)
            found = replay(built, _checked(built, node), node)
        shorten(built, found.run)
        built.workload["host"]["loop"] = loop_after(built.before)
        workload = _checked(built, node)
        found = replay(built, workload, node, trace=trace)
    return Imported(built=built, workload=workload, text=workload_text(built), replay=found)


def _checked(built: Built, node: Node) -> Workload:
    workload = Workload.model_validate(built.workload)
    check_workload(workload)
    check_on_node(workload, node)
    return workload


def trace_files(paths: Sequence[Path]) -> list[Path]:
    """*paths*, and what folders among them hold. Raises InputError: a folder without a trace."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(each for each in path.iterdir() if each.name.endswith(ENDINGS))
        if not found:
            raise InputError(f"no trace in it ({' or '.join(ENDINGS)})", file=str(path))
        files += found
    return files
