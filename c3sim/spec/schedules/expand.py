"""A workload with a schedule written out as ordinary tasks.

Of ``gather`` and ``gemm`` in four pieces become ``gather-0`` to ``gather-3`` and ``gemm-0`` to
``gemm-3``; not fused, ``gemm-STEP-PEER``; of kind tiles ``gemm`` and ``scatter-PEER``. Who waited
for the pair waits for its last pieces.
"""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.schedules.micro_pipeline import MicroPipeline
from c3sim.spec.schedules.pair import WHERE, Pair, find_pair
from c3sim.spec.schedules.pieces import (
    addition,
    collective_piece,
    own_copy,
    peer_copy,
    piece,
    placed,
)
from c3sim.spec.schedules.puts import with_put_kernels
from c3sim.spec.workload import Stream, Task, Workload, parse_after


def expanded(workload: Workload, node: Node) -> Workload:
    """*workload* without its schedule, its pair replaced by pieces, and with the kernels that post
    packets; as it is where it has neither.

    Raises InputError, one line, for what cannot be split.
    """
    workload = with_put_kernels(workload)
    if workload.schedule is None:
        return workload
    pair = find_pair(workload, node)
    if workload.host.order:
        raise InputError("pieces are launched in their order; leave host.order out", WHERE)
    build = _Build(workload, pair, node)
    build.run()
    tasks: dict[str, Task] = {}
    for name, task in workload.tasks.items():
        if name == pair.first:
            _add(tasks, build.tasks)
        elif name not in (pair.collective, pair.gemm):
            _add(tasks, {name: _behind(task, pair, build)})
    streams = {**workload.streams, **build.more_streams()}
    changes = {"tasks": tasks, "streams": streams, "schedule": None}
    return workload.changed(**changes)


def _add(tasks: dict[str, Task], more: dict[str, Task]) -> None:
    for name, task in more.items():
        if name in tasks:
            raise InputError(f"a piece would be called {name!r}, as a task is; rename it", WHERE)
        tasks[name] = task


def _behind(task: Task, pair: Pair, build: _Build) -> Task:
    """*task*, another one of the workload, behind the pieces it waits for."""
    ends = {pair.collective: build.moved, pair.gemm: build.worked}
    changes: dict[str, object] = {}
    for field in ("after", "launch_after"):
        waits: list[str] = []
        for text in getattr(task, field):
            after = parse_after(text)
            if after.task in ends and text != after.task:
                raise InputError(f"{text!r}: a task in pieces has neither tiles nor chunks", WHERE)
            waits += ends.get(after.task, [text])
        changes[field] = tuple(dict.fromkeys(waits))
    return task.changed(**changes)


class _Build:
    """The tasks of a pair; *moved* and *worked*: those whose ends are the pair's ends."""

    def __init__(self, workload: Workload, pair: Pair, node: Node):
        self.workload, self.pair, self.node, self.schedule = workload, pair, node, pair.schedule
        work, move = pair.work, pair.move
        self.compute = work.stream or "compute"
        self.communication = move.stream or "communication"
        if self.communication == self.compute:
            self.communication += "-communication"
        self.before = {  # what each waits for beside the other
            "work": [text for text in work.after if text != pair.collective],
            "move": [text for text in move.after if text != pair.gemm],
        }
        self.tasks: dict[str, Task] = {}
        self.moved: list[str] = []
        self.worked: list[str] = []
        self.begun: set[int] = set()  # steps, or all together, that have a GEMM

    def run(self) -> None:
        if self.schedule.kind == "micro_pipeline":
            self._as_operator()
        elif self.schedule.kind == "shards":
            self._shards()
        elif self.schedule.kind == "tiles":
            self._tiles()
        elif self.pair.feeds:
            self._arriving()
        else:
            self._leaving()

    def more_streams(self) -> dict[str, Stream]:
        """Further streams, as the first of their kind."""
        kinds = {self.compute: self.pair.work.stream, self.communication: self.pair.move.stream}
        found = {}
        for task in self.tasks.values():
            for first, given in kinds.items():
                stream = task.stream or ""
                if given in self.workload.streams and stream.startswith(f"{first}-"):
                    found[stream] = self.workload.streams[given]
        return found

    def _as_operator(self) -> None:
        before = [*self.before["move"], *self.before["work"]]
        operator = MicroPipeline(self.pair, self.node, before)
        self.tasks, self.moved, self.worked = operator.tasks, operator.ends, operator.ends

    def _arriving(self) -> None:
        """Each step arrives, and is worked on. The first piece is launched before any GEMM. When a
        piece has arrived, the GEMM that waited for it comes before the next piece, which a
        framework puts behind an event of its own: so the order of tasks.
        """
        schedule, pair = self.schedule, self.pair
        hetero = schedule.steps == "hetero"
        own, brought = own_copy(pair), list[str]()
        if own is not None:
            stream = f"{self.communication}-own"
            brought = [self._move(f"{pair.collective}-own", own, stream, [])]
        for step in range(schedule.pieces):
            sources = self._step(step, {})
            if hetero and step == 0:
                self._gemm(f"{pair.gemm}-own", 1, 0, self.before["move"], own=True)
            if schedule.fused:
                waits = brought + sources[1]
                self._gemm(f"{pair.gemm}-{step}", pair.ranks - hetero, step, waits)
                continue
            for peer in range(int(hetero), pair.ranks):
                waits = sources[peer] if peer else self.before["move"]
                self._gemm(f"{pair.gemm}-{step}-{peer}", 1, step, waits, peer=peer)

    def _leaving(self) -> None:
        """Each step is worked on, and leaves; what stays comes last."""
        hetero, ranks = self.schedule.steps == "hetero", self.pair.ranks
        for step in range(self.schedule.pieces):
            made: dict[int, list[str]] = {}
            if self.schedule.fused:
                name = self._gemm(f"{self.pair.gemm}-{step}", ranks - hetero, step, [])
                made = {peer: [name] for peer in range(1, ranks)}
            else:  # remote first
                for peer in (*range(1, ranks), *(() if hetero else (0,))):
                    name = f"{self.pair.gemm}-{step}-{peer}"
                    made[peer] = [self._gemm(name, 1, step, [], peer=peer)]
            arrived = self._step(step, made)
            if self.pair.adds and not hetero:
                waits = [name for names in arrived.values() for name in names] + made.get(0, [])
                self._addition(f"{self.pair.collective}-add-{step}", self.schedule.pieces, waits)
        if hetero:
            own = self._gemm(f"{self.pair.gemm}-own", 1, 0, [], own=True)
            if self.pair.adds:
                self._addition(f"{self.pair.collective}-add", 1, [*self.moved, own])

    def _shards(self) -> None:
        """The own shard, then one peer's after the other; what leaves is made before that."""
        pair, peers = self.pair, range(1, self.pair.ranks)
        moves = {peer: f"{pair.collective}-{peer}" for peer in peers}
        if pair.feeds:
            self._copies(moves, {})
        works = {
            peer: self._gemm(
                f"{pair.gemm}-{peer}",
                1,
                0,
                [moves[peer]] if pair.feeds and peer else self.before["move"] * pair.feeds,
                own=True,
            )
            for peer in ((0, *peers) if pair.feeds else (*peers, 0))
        }
        if not pair.feeds:
            self._copies(moves, works)

    def _tiles(self) -> None:
        """The whole GEMM, and a copy to each peer behind the tiles that belong to it."""
        pair, schedule = self.pair, self.schedule
        work = pair.work.changed(order=schedule.order)
        self.tasks[pair.gemm] = placed(work, self.compute, self.before["work"])
        self.worked.append(pair.gemm)
        for peer in range(1, pair.ranks):
            copy = peer_copy(pair, self.node, peer, 1)
            copy = copy.changed(posted=schedule.posted)
            stream = None if schedule.posted else f"{self.communication}-{peer}"
            made = [f"{pair.gemm}.tiles[peer {peer}]"]
            self._move(f"{pair.collective}-{peer}", copy, stream, made)
        if pair.adds:
            self._addition(f"{pair.collective}-add", 1, [*self.moved, pair.gemm])

    def _copies(self, moves: dict[int, str], works: dict[int, str]) -> None:
        """Whole shards to one peer after the other."""
        for peer, name in moves.items():
            made = [works[peer]] if works else []
            self._move(name, peer_copy(self.pair, self.node, peer, 1), self.communication, made)

    def _step(self, step: int, made: dict[int, list[str]]) -> dict[int, list[str]]:
        """Move what *made* has for each peer in *step*; what each peer's arrival is called."""
        pair, schedule, peers = self.pair, self.schedule, range(1, self.pair.ranks)
        if schedule.fused or not pair.by_engines:
            waits = [name for names in made.values() for name in names]
            piece_of_all = collective_piece(pair)
            name = f"{pair.collective}-{step}"
            self._move(name, piece_of_all, self.communication, waits)
            return {peer: [name] for peer in peers}
        arrived = {}
        for peer in peers:
            copy = peer_copy(pair, self.node, peer, schedule.pieces)
            name = f"{pair.collective}-{step}-{peer}"
            stream = f"{self.communication}-{peer}"
            arrived[peer] = [self._move(name, copy, stream, made.get(peer, []))]
        return arrived

    def _move(self, name: str, task: Task, stream: str | None, after: list[str]) -> str:
        self.tasks[name] = placed(task, stream, [*self.before["move"], *after])
        self.moved.append(name)
        return name

    def _addition(self, name: str, parts: int, after: list[str]) -> None:
        task = addition(self.pair, parts)
        self.tasks[name] = placed(task, f"{self.communication}-add", after)
        self.moved.append(name)

    def _gemm(
        self,
        name: str,
        ranks: int,
        step: int,
        after: list[str],
        *,
        peer: int = 0,
        own: bool = False,
    ) -> str:
        schedule = self.schedule
        flat = schedule.shape == "1d"
        group = 0 if flat or schedule.fused else step
        task = piece(self.pair, ranks, step, begun=group in self.begun, own=own)
        if flat or not own:  # a whole shard is no part of a 2d step
            self.begun.add(group)
        turn = (step if schedule.fused else peer) % schedule.streams
        stream = f"{self.compute}-{turn}" if turn else self.compute
        self.tasks[name] = placed(task, stream, [*self.before["work"], *after])
        self.worked.append(name)
        return name
