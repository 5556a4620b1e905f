"""From the files of traces to a checked workload and its replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from c3sim.errors import InputError
from c3sim.evaluation.effort import Effort, effort_of
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.checks.workload import check_workload
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

from ..chakra.reader import is_chakra
from ..chakra.side import Side, read_side
from ..files import read_log, read_unpacked
from .build import Built, build
from .chakra import read_chakra
from .clock import LoneTimes, part_of_limit
from .power import at_power_limit, draws_much, loop_after, shorten
from .replay import Replay, replay
from .text import workload_text
from .trace import Trace, read_trace

ENDINGS = (".json", ".json.gz", ".et")


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
    side: Path | None = None,
    trace: bool = False,
    large: bool = False,
    agree: Callable[[Effort], None] = lambda effort: None,
) -> Imported:
    """One iteration of the traces in *paths*: files, or folders of them; *side*: what Chakra traces
    among them lack; *trace*: keep the timeline of the replay; *large*: read long files too; *agree*
    is told what the replay takes, and raises where that is too much. Raises InputError or
    InputErrors.
    """
    files = trace_files(paths)
    given = read_side(side)
    traces = [_read(path, node, given, large=large) for path in files]
    ranks = [each.rank for each in traces]
    if len(set(ranks)) < len(ranks):
        numbers = ", ".join(str(rank) for rank in ranks)
        raise InputError(f"got traces of ranks {numbers}; must be one of each rank of one job")
    built = build(sorted(traces, key=lambda each: each.rank), node, wanted)
    workload = _checked(built, node)
    agree(effort_of(workload, node))
    found = replay(built, workload, node, trace=trace)
    if built.timed and draws_much(found.run, node):
        first = found.run
        if built.before and at_power_limit(first, node):
            first = _full_clock(built, node)
        _hold(built, node, first)
        workload = _checked(built, node)
        found = replay(built, workload, node, trace=trace)
    return Imported(built=built, workload=workload, text=workload_text(built), replay=found)


def _full_clock(built: Built, node: Node) -> Run:
    """Make *built*, at the power limit, a turn of a loop, with isolated times of the full clock;
    its replay.
    """
    host = built.workload["host"]
    host["loop"] = loop_after(built.earliest) if built.earliest else None
    shorten(built, _run(built, node))
    host["loop"] = loop_after(built.before)
    return _run(built, node)


def _hold(built: Built, node: Node, first: Run) -> None:
    """Give *built*, of which *first* is the replay, the part of the power limit that held."""
    share = _share(built, node, first)
    if share != 1.0:
        built.workload["host"]["power_share"] = share
        built.add(
            f"the clock was as at {share:.0%} of the power limit, by kernels that ran alone: chips"
            " differ, regulators swing"
        )


def _share(built: Built, node: Node, first: Run) -> float:
    """The part of the power limit that held; *first*: the replay with all of it."""
    lone = LoneTimes.of(built.works)
    return part_of_limit(lone, first, lambda share: _run(built, node, share))


def _run(built: Built, node: Node, share: float | None = None) -> Run:
    """The replay, where *share* is given with that of the power limit."""
    workload = _checked(built, node)
    if share is not None:
        host = workload.host.model_copy(update={"power_share": share})
        workload = workload.model_copy(update={"host": host})
    return simulate(node, workload)


def _checked(built: Built, node: Node) -> Workload:
    workload = Workload.model_validate(built.workload)
    check_workload(workload)
    check_on_node(workload, node)
    return workload


def _read(path: Path, node: Node, side: Side, *, large: bool) -> Trace:
    """The trace in one file, of a profiler or of Chakra."""
    data = read_unpacked(path, large=large)
    if is_chakra(data):
        return read_chakra(data, path.name, node, side)
    return read_trace(read_log(path, large=large)[0], path.name)


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
