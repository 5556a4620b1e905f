"""Cost of one result of a description on this computer, counted over all runs behind it.

Two numbers of layers are run, each of them whole and as its two sides, which may fold where the
whole does not; of a pipeline every part of a stage, for both kinds of micro batches (stages.py);
all of it once more where an eager host may bind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.effort import RUNS, Effort
from c3sim.evaluation.effort import effort_of as effort_of_workload
from c3sim.iterations.build import WHOLE, Built, Piece, Plan, build, plan
from c3sim.iterations.described import changes_of, node_with
from c3sim.iterations.measured import layers_to_run
from c3sim.iterations.runs import Change, Numbers, Side, exchanged, side_of
from c3sim.iterations.stages import ONCE, PLAIN, Turns
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import FIELDS, Described
from c3sim.spec.reading.loading import LoadedIteration, with_field, with_model
from c3sim.spec.reading.mistakes import with_places
from c3sim.spec.workload import Workload

ENGINES = "conccl"


def effort_of(workload: Workload, node: Node, strategy: str = "as_written") -> Effort:
    """Time and memory that one result takes, of a description under *strategy*: a strategy that
    moves collectives to engines has a run of many more events.
    """
    if not isinstance(workload, Described):
        return effort_of_workload(workload, node)
    loaded = with_model(workload.iteration)
    name = ENGINES if strategy.startswith(ENGINES) else "as_written"
    planned = plan(loaded.iteration, loaded.model, node)
    return effort_of_iteration(planned, changes_of(workload, node, name))


def effort_of_description(
    loaded: LoadedIteration, node: Node, settings: Mapping[str, object]
) -> Effort:
    """Effort as of :func:`effort_of`, of *loaded* on *node* with *settings*, before more than a
    layer of it is made. Raises InputErrors.
    """
    iteration, node = loaded.iteration, node_with(node, settings)
    for path, value in settings.items():
        if path.split(".")[0] in FIELDS:
            iteration = with_field(iteration, path, value)
    set_here = {path.split(".")[0] for path in settings}
    with with_places(loaded.file, loaded.places, set_here):
        if iteration is not loaded.iteration:
            loaded = with_model(iteration, loaded.file, loaded.places)
        try:
            return effort_of_iteration(plan(loaded.iteration, loaded.model, node))
        except InputError as error:
            raise InputErrors([error]) from None


def effort_of_iteration(planned: Plan, change: Change | None = None) -> Effort:
    """Time and memory that one result of *planned* takes, every workload changed by *change*; left
    out: estimated from one layer, so that no more are built.
    """
    seconds = size = 0.0
    for piece, layers in _runs(planned):
        few = layers if change else min(1, layers)
        built = build(planned, few, piece)
        workload = change(built.workload) if change else built.workload
        efforts = [effort_of_workload(each, planned.node) for each in _sides(built, workload)]
        times = max(1, layers) / max(1, few)
        seconds += times * sum(each.seconds for each in efforts) / RUNS
        size += times * efforts[0].bytes
    turns = 2 if planned.iteration.launch == "eager" else 1
    return Effort(turns * seconds, turns * size)


def _sides(built: Built, workload: Workload) -> list[Workload]:
    """*workload*, which stands for *built*, and what is run of it alone: a copy has no sides."""
    names = exchanged(built)
    if not names or names >= workload.tasks.keys():
        return [workload]
    alone: tuple[Side, ...] = ("compute", "communication")
    return [workload, *(side_of(side, built, workload, called=False) for side in alone)]


def _runs(planned: Plan) -> Iterator[tuple[Piece, int]]:
    """Every part that is run, and with how many layers."""
    few, more = layers_to_run(planned)
    turns = Turns(planned=planned, of=lambda *_: Numbers())
    most = {turns.layers(stage) for stage in range(turns.pipe.depth)}
    counts = most if max(most) <= more + 1 else {few, more}
    if not planned.in_turns:
        yield from ((WHOLE, count) for count in counts)
        return
    units = planned.units()
    for once in (PLAIN, ONCE):
        if planned.stages == 1:
            yield from ((Piece("whole", once), count) for count in counts)
            continue
        yield from ((Piece("layers", once), count) for count in counts)
        if units.start.forward:
            yield Piece("start", once), 0
        if units.end.forward:
            yield Piece("end", once), 0
