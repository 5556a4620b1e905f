"""``c3sim explain``: where the time went."""

from __future__ import annotations

from c3sim.cli.consent import Yes, agree_to_run, agreeing
from c3sim.cli.emit import emit_json
from c3sim.cli.options import Json, NodeName, Settings, StrategyName, WorkloadName, settings

RUNS = 16  # about as many combinations of kinds of sharing


def explain(
    workload: WorkloadName,
    node: NodeName = None,
    strategy: StrategyName = "as_written",
    set_: Settings = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Split the slowdown of each task of WORKLOAD by cause; of an iteration its wall time, the
    exposed communication, and the time of each operator class.

    The run is repeated with kinds of sharing taken away. The share of a cause is its mean effect
    over all orders in which the kinds can be added, so causes that interact share the effect.

    \b
    Examples:
      c3sim explain gemm-beside-all-gather
      c3sim explain gemm-beside-all-gather --strategy conccl
      c3sim explain llama3-8b-training --set 'tasks[kind=collective].channels=8'
      c3sim explain gemm-beside-all-gather --set task.gather.channels=16 --json
    """
    changes = settings(set_)
    from c3sim.api import explain as explain_run
    from c3sim.api import prepare
    from c3sim.cli.progress import progress

    plain, on = prepare(workload, node, changes)
    agree_to_run(agreeing(yes), plain, on, RUNS)
    with progress() as tell:
        found = explain_run(plain, node=on, strategy=strategy, progress=tell)
    explanation = found.to_dict()
    if as_json:
        emit_json(explanation)
    else:
        from c3sim.output.kit.layout import show
        from c3sim.output.tables.run import explain_table

        show(explain_table(explanation))
