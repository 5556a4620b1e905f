"""A description of an iteration, run: its wall time, and where it went.

Layers are equal, so a few are simulated, twice: with a few and with a few more. What a layer adds
to any time or energy is the difference by the number of layers; all others are taken to add the
same.

An eager host runs ahead of the GPU as long as its launches take less than the GPU's work. Where
they take longer over the whole iteration, the run is simulated with the host in the loop, kernel by
kernel; else its part is left out, as that of a graph. An iteration is one of a loop that nobody
waits for between turns: it takes the longer of what the host needs for its launches and of what the
GPUs need without it. (The last kernels of a turn run while the host launches the first of the next
one; the period of such a system is that of its slowest cycle: Baccelli, Cohen, Olsder and Quadrat,
Synchronization and Linearity, 1992, chapter 3.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from c3sim.iterations.build import WHOLE, Built, Model, Piece, Plan, build, plan
from c3sim.iterations.operators import LIST_CHUNK, LIST_WORKGROUPS
from c3sim.iterations.runs import (
    Change,
    Like,
    Numbers,
    Runs,
    Side,
    Sides,
    launched,
    of_copy,
    side_of,
)
from c3sim.iterations.shares import adding_up
from c3sim.iterations.stages import OfPiece, Whole, all_turns
from c3sim.simulation.run import Run, Settled, Turn
from c3sim.simulation.runs import turn_before
from c3sim.simulation.simulate import turn_of
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Iteration
from c3sim.spec.models import Dlrm
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.workload import Workload

#: Layers of the first run; the increment is steady once these have filled the queues.
FEW = 2
#: Further layers of the second run: one, or two where one layer may add more than the next. Buckets
#: do not end with layers; an optimizer's kernels over lists launch whole rounds of numbers, which a
#: layer of fewer than MANY on a GPU fills unevenly.
FURTHER, NOT_ALIKE = 1, 2
MANY = 4 * LIST_WORKGROUPS * LIST_CHUNK
#: Part of the host's time for a layer that the wall time follows where all layers wait for it: the
#: optimizer's calls for it are hidden behind the last exchange.
NEARLY = 0.95
TWICE = 2.0
#: What is known of runs on a node with other rates, by piece and layers.
Known = Mapping[tuple[Piece, int], Like]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The runs of a *few* layers and of *more*, and what they say of the whole iteration."""

    planned: Plan
    few: int
    more: int
    low: Runs
    high: Runs
    host_bound: bool

    @property
    def numbers(self) -> Numbers:
        """Figures of the whole iteration."""
        return self.whole(self.low.numbers, self.high.numbers)

    @property
    def sample(self) -> Runs:
        """The run of few layers."""
        return self.low

    @property
    def known(self) -> Known | None:
        """Times of each run that no rate moves, or hardly; None where the host is in the loop."""
        runs = {(WHOLE, self.few): self.low, (WHOLE, self.more): self.high}
        return None if self.host_bound else {key: each.like for key, each in runs.items()}

    @property
    def waits_for_host(self) -> bool:
        """True if launches take longer than one pass, of all layers, comes out."""
        one = self.high.numbers
        if self.few != self.more:
            one = self.low.numbers.at(one, self.few, self.more, self.planned.own_layers)
        return one.host > one.wall

    @property
    def bound_by_ends(self) -> bool:
        """True if what stands before and behind so few layers takes so long that the host is waited
        for in hardly any of them: another layer adds less than the host takes for it.
        """
        low, high = self.low.numbers, self.high.numbers
        return high.wall - low.wall < NEARLY * (high.host - low.host)

    @property
    def runs_of_layers(self) -> tuple[Runs, ...]:
        """Those that are behind :meth:`sharing`, the longer ones first."""
        return (self.high,) if self.low is self.high else (self.high, self.low)

    def sharing(self, private: frozenset[str]) -> Numbers:
        """The same where tasks have the kinds of sharing *private* to themselves."""
        node = self.planned.node
        high = self.high.sharing(node, private)
        low = high if self.low is self.high else self.low.sharing(node, private)
        return self.whole(low, high)

    def whole(self, low: Numbers, high: Numbers) -> Numbers:
        """Figures of all layers, in a loop."""
        if self.few != self.more:
            high = low.at(high, self.few, self.more, self.planned.own_layers)
        return in_a_loop(high) if self.host_bound else high


def in_a_loop(numbers: Numbers) -> Numbers:
    """*numbers* of one turn of a loop that the host binds, from those of a turn by itself."""
    wall = numbers.host
    parts, compute = adding_up(numbers.parts, wall), min(numbers.compute, wall)
    return replace(numbers, wall=wall, compute=compute, parts=parts)


def measure(
    iteration: Iteration,
    model: Model,
    node: Node,
    *,
    change: Change = lambda workload: workload,
    trace: bool = False,
    all_layers: bool = False,
    sides: Sides = "run",
    known: Known | None = None,
) -> Measured | InTurns:
    """*iteration* on *node*. *change*: of every workload that is simulated (a strategy, settings).
    *all_layers*: simulate every one. *sides*: see :meth:`Runs.of`; *known*: of runs in which the
    host is in no loop, so that no side is run. Raises InputErrors where it cannot run there.
    """
    planned = plan(iteration, model, node)
    how: dict[str, Any] = {"sides": sides, "known": known or {}, "trace": trace}
    if planned.in_turns:
        return measure_turns(planned, change, all_layers=all_layers, **how)
    layers, called = planned.own_layers, iteration.launch == "eager"
    few, more = layers_to_run(planned)
    if all_layers or layers <= few + more:
        few = more = layers
    built: dict[bool, Any] = {False: {}, True: {}}  # pieces, the host in the loop or not

    def runs(few: int, more: int, *, eager: bool, **other: Any) -> RunsOfPieces:
        given: Any = {**how, **other, "few": few, "more": more, "_pieces": built[eager]}
        return RunsOfPieces(planned=planned, change=change, eager=eager, **given)

    # else the whole alone says whether the host is in the loop
    surely = not called or runs(few, more, eager=False).outlast_host
    whole = {"sides": "none", "trace": False}
    if surely or not runs(few, more, eager=False, **whole).of_layers().waits_for_host:
        return runs(few, more, eager=False).of_layers()
    measured = runs(few, more, eager=True).of_layers()
    while measured.waits_for_host and measured.bound_by_ends and more < layers:
        few, more = more, more + 2 * (more - few)  # whole turns of kinds of layers apart
        if more >= layers:
            few = more = layers
        measured = runs(few, more, eager=True).of_layers()
    return measured


def work_of(planned: Plan) -> tuple[float, float]:
    """FLOP of the model on a GPU, and FLOP/s of its matrix units at the full clock."""
    gpu = planned.node.gpu
    per_cycle = gpu.compute_units.flops_per_cycle[planned.operators.dtype]
    peak = per_cycle * gpu.compute_unit_count * gpu.clock.maximum
    units = planned.units()
    flops = units.flops
    if planned.stages > 1:  # each has its layers; what begins and ends the model one stage each
        layer = units.layer.flops
        flops = (flops + (planned.layers - units.layers) * layer) / planned.stages
    return flops * planned.micro_batches * planned.iteration.halves, peak


def layers_to_run(planned: Plan) -> tuple[int, int]:
    """Layers of the two runs: enough for what is gathered ahead, behind those of other kinds; where
    kinds alternate, whole turns of them apart, as are all layers from the second run.
    """
    fsdp, model = planned.mesh.fsdp, planned.model
    few = FEW + (max(0, fsdp.prefetch - 1) if fsdp is not None else 0)
    more = few + (FURTHER if _alike(planned) else NOT_ALIKE)
    if isinstance(model, Dlrm):
        return few, more
    turn = model.period
    dense = max(0, model.dense_layers - planned.layers + planned.own_layers)
    first = dense + (planned.own_layers - dense) % turn
    few, more = -(-few // turn) * turn, -(-more // turn) * turn
    return first + few, first + (more if more > few else few + turn)


def _alike(planned: Plan) -> bool:
    """True if what goes over all layers takes each as any other."""
    if planned.mesh.ddp is not None:
        return False
    numbers = planned.units().layer.parameters / planned.mesh.shards
    return planned.iteration.optimizer == "none" or numbers >= MANY


@dataclass(frozen=True, kw_only=True)
class InTurns:
    """The runs of the pieces of a stage, and what they say of all micro batches. *more*: layers
    that were simulated.
    """

    planned: Plan
    few: int
    more: int
    runs: RunsOfPieces
    copies: Callable[[Piece], Workload]
    host_bound: bool

    @property
    def known(self) -> Known | None:
        """The same as of :class:`Measured`, of all runs."""
        _ = self.all_turns  # makes them
        made = self.runs.made
        return None if self.host_bound else {key: each.like for key, each in made.items()}

    @property
    def high(self) -> Runs:
        """The run whose tasks are shown."""
        name: Any = "whole" if self.planned.stages == 1 else "layers"
        return self.runs(Piece(name), self.more)

    @property
    def sample(self) -> Runs:
        """The run of few layers."""
        name: Any = "whole" if self.planned.stages == 1 else "layers"
        return self.runs(Piece(name), self.few)

    @cached_property
    def all_turns(self) -> Whole:
        return all_turns(self.planned, self._figures(lambda runs: runs.numbers, frozenset()))

    @property
    def numbers(self) -> Numbers:
        found = self.all_turns.numbers
        return in_a_loop(found) if self.host_bound else found

    @property
    def runs_of_layers(self) -> tuple[Runs, ...]:
        """The same as of :class:`Measured`."""
        _ = self.all_turns  # makes them
        return tuple(self.runs.made.values())

    def sharing(self, private: frozenset[str]) -> Numbers:
        """The same where tasks have the kinds of sharing *private* to themselves."""
        node = self.planned.node
        of = self._figures(lambda runs: runs.sharing(node, private), private)
        found = all_turns(self.planned, of).numbers
        return in_a_loop(found) if self.host_bound else found

    def _figures(self, of: Callable[[Runs], Numbers], private: frozenset[str]) -> OfPiece:
        @cache
        def one(piece: Piece, layers: int) -> Numbers:
            if piece.name in ("within", "between"):
                return of_copy(self.planned.node, self.copies(piece), private)
            return of(self.runs(piece, layers))

        def figures(piece: Piece, layers: int) -> Numbers:
            if layers <= self.more:
                return one(piece, layers)
            return one(piece, self.few).at(one(piece, self.more), self.few, self.more, layers)

        return figures


@dataclass(frozen=True, kw_only=True, slots=True)
class RunsOfPieces:
    """The run of each piece with so many layers, made once, on GPUs in the middle of a loop of all
    layers, which *few* and *more* of them say; other arguments as of :meth:`Runs.of`.
    """

    planned: Plan
    change: Change
    eager: bool
    few: int
    more: int
    sides: Sides
    known: Known
    trace: bool
    made: dict[tuple[Piece, int], Runs] = field(default_factory=dict)
    _pieces: dict[tuple[Piece, int], tuple[Built, Workload]] = field(default_factory=dict)
    _turns: dict[Side, Turn | None] = field(default_factory=dict)

    def __call__(self, piece: Piece, layers: int) -> Runs:
        if (piece, layers) not in self.made:
            self.made[piece, layers] = Runs.of(
                self.planned.node,
                *self.piece(piece, layers),
                self.in_loop,
                called=self._called,
                trace=self.trace,
                sides=self.sides,
                like=None if self.eager else self.known.get((piece, layers)),
            )
        return self.made[piece, layers]

    def piece(self, piece: Piece, layers: int) -> tuple[Built, Workload]:
        """So many layers of *piece*, and what runs of them."""
        if (piece, layers) not in self._pieces:
            built = build(self.planned, layers, piece)
            workload = self.change(launched(built.workload, eager=self.eager))
            self._pieces[piece, layers] = built, workload
        return self._pieces[piece, layers]

    def of_layers(self) -> Measured:
        """Those of all pieces in one. Raises InputErrors where they cannot run on the node."""
        few, more = self.few, self.more
        check_on_node(self.piece(WHOLE, more)[0].workload, self.planned.node)
        high = low = self(WHOLE, more)
        if few != more:
            low = replace(self, trace=False)(WHOLE, few)
        given: dict[str, Any] = {"planned": self.planned, "host_bound": self.eager}
        return Measured(**given, few=few, more=more, low=low, high=high)

    @property
    def outlast_host(self) -> bool:
        """True if all layers would take longer than the host's launches even at TWICE what the
        matrix units can do, so that no run has to say so.
        """
        low, high = (self.piece(WHOLE, of)[0].host for of in (self.few, self.more))
        layers, further = self.planned.own_layers - self.more, self.more - self.few
        host = high + (layers * (high - low) / further if further else 0.0)
        flop, peak = work_of(self.planned)
        return host * TWICE < flop / peak

    @property
    def _called(self) -> bool:
        return self.planned.iteration.launch == "eager"

    def in_loop(self, side: Side) -> Settled | None:
        """A GPU in the middle of a loop of *side*. Collectives alone hold no clock; where no load
        of the whole passes the power limit nothing does.
        """
        whole = self._turn("whole")
        turn = self._turn("compute") if side == "compute" and whole and whole.held else whole
        loop = self.piece(WHOLE, self.more)[1].host.loop
        if turn is None or loop is None:
            return None
        settled = turn.settled(self.planned.node.gpu.clock, loop.iterations)
        return settled if side != "communication" else Settled(settled.average)

    def _turn(self, side: Side) -> Turn | None:
        """A first turn of all layers; None: no loop."""
        if side not in self._turns:
            node, layers = self.planned.node, self.planned.own_layers
            found = [self._first(side, of) for of in dict.fromkeys((self.few, self.more))]
            turns = [None if run is None else turn_of(node, run) for run in found]
            low, high = turns[0], turns[-1]
            if low is not None and high is not None and low is not high:
                high = low.at(high, self.few, self.more, layers)
            self._turns[side] = high
        return self._turns[side]

    def _first(self, side: Side, layers: int) -> Run | None:
        other = side_of(side, *self.piece(WHOLE, layers), called=self._called)
        return turn_before(self.planned.node, other)


def measure_turns(
    planned: Plan, change: Change, *, trace: bool, all_layers: bool, sides: Sides, known: Known
) -> InTurns:
    """An iteration of several micro batches; arguments as of :func:`measure`."""
    few, more = layers_to_run(planned)
    most = -(-planned.layers // (planned.stages * planned.chunks))
    if all_layers or most <= more + 1:
        few = more = most
    check_on_node(build(planned, more).workload, planned.node)

    def copies(piece: Piece) -> Workload:
        return change(launched(build(planned, 0, piece).workload, eager=False))

    def found(eager: bool) -> InTurns:
        how: dict[str, Any] = {"sides": sides, "known": known, "trace": trace}
        given: dict[str, Any] = {"planned": planned, "few": few, "more": more}
        runs = RunsOfPieces(**given, change=change, eager=eager, **how)
        return InTurns(**given, runs=runs, copies=copies, host_bound=eager)

    measured = found(eager=False)
    if planned.iteration.launch == "eager" and measured.numbers.host > measured.numbers.wall:
        return found(eager=True)
    return measured
