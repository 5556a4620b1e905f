"""``c3sim compare``: strategies side by side."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from c3sim.cli import complete
from c3sim.cli.consent import Yes, agree_to_iteration, agree_to_run, agreeing
from c3sim.cli.emit import emit_json
from c3sim.cli.options import Json, NodeName, Settings, WorkloadName, settings

OF_ALL = ("workload", "node", "ideal_speedup")  # figures that all strategies share
RUNS = 15  # about as many strategies can apply


def compare(
    workload: WorkloadName,
    strategies: Annotated[
        str,
        Option(
            metavar="A,B,...|all",
            help="Strategies, separated by commas; all: those that can apply.",
            autocompletion=complete.strategies,
        ),
    ] = "all",
    node: NodeName = None,
    set_: Settings = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run WORKLOAD under several strategies: times, speedup, fraction of ideal side by side.

    \b
    Examples:
      c3sim compare gemm-beside-all-gather
      c3sim compare llama3-70b-o --strategies base,sp,rp:32,conccl
      c3sim compare gemm-beside-all-gather --set gpu.memory_side_cache.capacity='512 MiB' --json
    """
    changes = settings(set_)
    from c3sim.api import compare as run_all
    from c3sim.api import prepare
    from c3sim.cli.progress import progress
    from c3sim.spec.reading.loading import is_iteration

    agree, runs = agreeing(yes), RUNS if strategies == "all" else 1 + strategies.count(",")
    if is_iteration(workload):
        agree_to_iteration(agree, workload, node, changes, runs)
    else:
        agree_to_run(agree, *prepare(workload, node, changes), runs)
    with progress() as tell:
        results = run_all(workload, node=node, strategies=strategies, set=changes, progress=tell)
    if as_json:
        first = {name: getattr(results[0], name) for name in OF_ALL}
        emit_json({**first, "strategies": results.to_dict(), "left_out": results.left_out})
    else:
        from c3sim.output.kit.layout import show
        from c3sim.output.tables.run import compare_table

        show(compare_table(results))
