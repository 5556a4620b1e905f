"""``c3sim compare``: strategies side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from c3sim.cli import complete
from c3sim.cli.against import Against, Given, compared_by_strategy, other_of
from c3sim.cli.consent import Yes, agree_to_iteration, agree_to_run, agreeing
from c3sim.cli.emit import emit_json
from c3sim.cli.options import Jobs, Json, NodeName, Settings, WorkloadName, settings

if TYPE_CHECKING:
    from c3sim.evaluation.comparison import Comparison
    from c3sim.evaluation.differences import Differences

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
    against: Against = None,
    jobs: Jobs = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run WORKLOAD under several strategies: times, speedup, fraction of ideal side by side.

    \b
    Examples:
      c3sim compare gemm-beside-all-gather
      c3sim compare llama3-70b-o --strategies base,sp,rp:32,conccl
      c3sim compare llama3-70b-o --set gpu.hbm.bandwidth='6 TB/s' --json
      c3sim compare gemm-beside-all-gather --against links.bandwidth='60 GB/s'
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
        results = run_all(
            workload, node=node, strategies=strategies, set=changes, progress=tell, jobs=jobs
        )
    found = None
    if against:
        given = Given(workload=workload, node=node, strategy="as_written", settings=changes)
        found = compared_by_strategy(other_of(given, against)[0], given, results, agree)
    if as_json:
        emit_json(_data(results, found))
    else:
        _print(results, found)


def _data(results: Comparison, found: Differences | None) -> dict[str, Any]:
    first = {name: getattr(results[0], name) for name in OF_ALL}
    data = {**first, "strategies": results.to_dict(), "left_out": results.left_out}
    return data | ({"against": found.to_dict()} if found else {})


def _print(results: Comparison, found: Differences | None) -> None:
    from c3sim.kit.layout import show
    from c3sim.output.tables.differences import differences_table
    from c3sim.output.tables.run import compare_table

    show(compare_table(results))
    if found:
        show(differences_table(found))
