"""``c3sim diff``: two runs, traces, iterations or result files, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from c3sim.cli.against import Given, compared, given_of, saved_run
from c3sim.cli.consent import Yes, agree_to_iteration, agreeing
from c3sim.cli.emit import emit_json
from c3sim.cli.options import Json, NodeName
from c3sim.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from c3sim.evaluation.differences import Differences

ROWS = 20  # of a result file that are printed


def diff(
    before: Annotated[str, Argument(metavar="BEFORE", help="A file, a folder or a name.")],
    after: Annotated[str, Argument(metavar="AFTER", help="Another one of the same kind.")],
    node: NodeName = None,
    iteration: Annotated[
        int | None,
        Option(metavar="K", help="Of traces: the marked step K, else the K-th repetition."),
    ] = None,
    column: Annotated[
        str | None, Option(metavar="NAME", help="Of result files: the figure to compare.")
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Say what changed from BEFORE to AFTER, and by what.

    \b
    Both are of one kind:
      run        what 'c3sim run --json' has saved
      model      a workload or an iteration: both are run; the change has its band
      trace      a PyTorch profiler trace, or a folder with those of all ranks: by
                 class and kernel, exposed communication, and contention as
                 the model has it
      results    of 'c3sim sweep' or 'c3sim study --json': rows with the same axes

    \b
    Examples:
      c3sim diff before.json after.json
      c3sim diff gemm-beside-all-gather my-workload.yaml --node h200-8
      c3sim diff traces-before/ traces-after/ --node h200-8
      c3sim diff sweep-before/ sweep-after/ --column fraction_of_ideal
    """
    from c3sim.output.results.saved import kind_of

    kinds = kind_of(before), kind_of(after)
    if len(set(kinds) - {"run"}) > 1 or set(kinds) == {"run", "results"}:
        raise InputError(f"{before} is of kind {kinds[0]}, {after} of kind {kinds[1]}")
    if "results" in kinds:
        from c3sim.output.results.saved import of_results

        _print_rows(of_results(before, after, column), as_json)
        return
    if "trace" in kinds:
        found = _of_traces(before, after, node, iteration)
    else:
        found = _of_runs(before, after, node, yes)
    if as_json:
        emit_json(found.to_dict())
        return
    from c3sim.kit.layout import show
    from c3sim.output.tables.differences import differences_table, traces_table

    show(traces_table(found) if "trace" in kinds else differences_table(found))


def _of_traces(before: str, after: str, node: str | None, iteration: int | None) -> Differences:
    from c3sim.cli.progress import progress
    from c3sim.importers.workloads.changes import imported, of_traces

    with progress() as tell:
        read = []
        for number, path in enumerate((before, after)):
            tell("traces", number, 2)
            read.append(imported([Path(path)], node, iteration))
    return of_traces(*read)


def _of_runs(before: str, after: str, node: str | None, yes: bool) -> Differences:
    from c3sim.api import run
    from c3sim.spec.reading.loading import is_iteration
    from c3sim.spec.reading.settings import Settings

    agree, sides, saved = agreeing(yes), [], []
    for name in (before, after):
        document = saved_run(name) if name.endswith(".json") else None
        if document is not None:
            given = given_of(document, name)
        else:
            given = Given(workload=name, node=node, strategy="as_written", settings=Settings())
            if is_iteration(name):
                agree_to_iteration(agree, name, node, Settings())
        sides.append(given)
        saved.append(document)
    now = saved[1]
    if now is None:
        now = run(after, node=node).to_dict()
    return compared(sides[0], sides[1], saved[0], now, agree)


def _print_rows(rows: pd.DataFrame, as_json: bool) -> None:
    if as_json:
        *_, column = rows.attrs["columns"]
        found = rows.to_dict("records")
        alone = dict(zip(("only_before", "only_after"), rows.attrs["alone"], strict=True))
        given = {"column": column, "rows": found, "left_out": rows.attrs["left_out"]}
        emit_json({**given, **alone})
        return
    from c3sim.kit.layout import show
    from c3sim.output.tables.differences import rows_table

    show(rows_table(rows, ROWS))
