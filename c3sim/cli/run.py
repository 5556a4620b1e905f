"""``c3sim run``: one workload under one strategy."""

from __future__ import annotations

from typing import Annotated

import typer

from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json, NodeName, Plot, Settings, StrategyName, WorkloadName, settings

__all__ = ["run"]


def run(
    workload: WorkloadName,
    node: NodeName = None,
    strategy: StrategyName = "as_written",
    set_: Settings = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE", help="Write a trace for ui.perfetto.dev.")
    ] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Run WORKLOAD once: times of every task, alone and together.

    \b
    Examples:
      c3sim run gemm-beside-all-gather
      c3sim run gemm-beside-all-gather --strategy rp:32 --plot timeline.png
      c3sim run gemm-beside-all-gather --set task.gather.size='1 GiB' --set links.bandwidth='96 GB/s'
      c3sim run my-workload.yaml --node teaching-4 --trace run.pftrace --json
    """
    changes = settings(set_)
    _check_files(trace, plot)
    from c3sim.api import run as simulate

    result = simulate(workload, node=node, strategy=strategy, set=changes, trace=bool(trace or plot))
    if trace and result.timeline is not None:
        from c3sim.output.trace import write_perfetto

        write_perfetto(result.timeline, trace)
        say(f"wrote {trace}; open it at https://ui.perfetto.dev")
    if plot:
        from c3sim.output.plot import plot_timeline

        plot_timeline(result, plot)
        say(f"wrote {plot}")
    if as_json:
        emit_json(result.to_dict())
    else:
        from c3sim.output.tables import print_run

        print_run(result)


def _check_files(trace: str | None, plot: str | None) -> None:
    """Whether both can be written, before the work. Raises InputError."""
    from pathlib import Path

    from c3sim.errors import InputError
    from c3sim.output.files import check_writable
    from c3sim.output.look import check_picture

    if trace:
        check_writable(trace)
    if plot:
        check_picture(plot)
    if trace and plot and Path(trace).resolve() == Path(plot).resolve():
        raise InputError("trace and picture would be the same file; name two files", "--plot", plot)
