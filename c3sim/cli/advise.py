"""``c3sim advise``: which knobs of its backends pay for a workload, an iteration or a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json
from c3sim.cli.options import Json, NodeName, Settings, WorkloadName, settings
from c3sim.errors import InputError

if TYPE_CHECKING:
    from c3sim.spec.workload import Workload

TRACES = (".json", ".json.gz")


def advise(
    workload: WorkloadName,
    node: NodeName = None,
    set_: Settings = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Try channels, engines, order, priority, queues, pieces and prefetch on WORKLOAD (a workload,
    an iteration, or a profiler's trace: .json, .json.gz), each alone, and the good ones together.

    The gain is part of the wall time, with the band of the same draws of all that is uncertain in
    both runs. A gain whose band reaches below zero is none: leave it.

    \b
    Examples:
      c3sim advise gemm-beside-all-gather
      c3sim advise llama3-8b-training --node h200-8
      c3sim advise trace.json --node h200-2 --json
    """
    from c3sim.api import advise as ask
    from c3sim.cli.progress import progress

    with progress() as tell:
        subject = _of_trace(workload, node) if workload.endswith(TRACES) else workload
        found = ask(subject, node=node, set=settings(set_), progress=tell, agree=agreeing(yes))
    if as_json:
        emit_json(found.to_dict())
    else:
        from c3sim.kit.layout import show
        from c3sim.output.tables.advice import advice_table

        show(advice_table(found))


def _of_trace(path: str, node: str | None) -> Workload:
    """The iteration of a profiler's trace. Raises InputError(s)."""
    from c3sim.importers import import_iteration
    from c3sim.spec.reading.loading import load_node

    if node is None:
        raise InputError("a trace does not say its node; name one with --node", "", path)
    return import_iteration([Path(path)], load_node(node), None).workload
