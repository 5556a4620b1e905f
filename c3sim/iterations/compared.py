"""An iteration under several strategies, whose runs go side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.strategies.table import ask_ahead, chooses
from c3sim.iterations.described import asked, few_layers
from c3sim.result import Result
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described

AS_WRITTEN = "as_written"


def of_strategies(
    workload: Described,
    node: Node,
    strategies: Sequence[str],
    together: AbstractContextManager[None],
    *,
    must: bool = True,
) -> tuple[list[Result], dict[str, str]]:
    """Result of each of *strategies*, whose runs are asked for *together*, and why some cannot
    apply. Raises InputError(s): one that *must* apply cannot.
    """
    refused: dict[str, str] = {}
    made: dict[str, Callable[[], Result]] = {}
    with together:
        written = asked(workload, node, AS_WRITTEN)
        few = few_layers(workload, node)

        def choose(name: str) -> None:
            if few is not None:
                ask_ahead(name, few, node)

        def run(name: str) -> None:
            made[name] = written if name == AS_WRITTEN else asked(workload, node, name)

        # a figure that is read has all runs made, so all that need none come first
        for ask, names in ((choose, strategies), (run, sorted(strategies, key=chooses))):
            for name in names:
                try:
                    if name not in refused:
                        ask(name)
                except (InputError, InputErrors) as error:
                    if must:
                        raise
                    refused[name] = str(error)
        first, results = written(), {name: result() for name, result in made.items()}
    found = [results[name] for name in strategies if name in results]
    return [_measured_by(first, result) for result in found], refused


def _measured_by(written: Result, result: Result) -> Result:
    """*result* of an iteration with the ideal of the iteration as *written*, without single tasks,
    as there are many.
    """
    speedup, most = written.serial_s / result.wall_s, written.ideal_speedup - 1
    return replace(
        result,
        tasks={},
        serial_s=written.serial_s,
        ideal_speedup=written.ideal_speedup,
        speedup=speedup,
        fraction_of_ideal=(speedup - 1) / most if written.fraction_of_ideal is not None else None,
        overlap=replace(result.overlap, own_fraction=result.fraction_of_ideal),
    )
