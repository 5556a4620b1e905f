"""Workloads made in Python, as a file would have them, with the same errors::

    gather = collective("all_gather", 896 * 2**20)
    pair = Workload({"gemm": gemm(8192, 8192, 8192), "gather": gather})

A task is a mapping as in a file, so more of them and other kinds need no function here. A plain
number of bytes is fine. A DMA program has a method for each command::

    program = Program()
    for peer in range(1, 8):
        program.copy("64 KiB", peer=peer)
    c3sim.run(program.workload(submission="direct"), node="mi300x-8")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from c3sim.spec import workload as specs
from c3sim.spec.reading.loading import LoadedIteration, parse_iteration, parse_workload
from c3sim.spec.task import Command

__all__ = ["Workload", "collective", "copy", "gemm", "hold", "stream_kernel"]

TaskFields = dict[str, Any]


def Workload(  # it reads as the class whose instance it gives
    tasks: Mapping[str, Mapping[str, Any]], *, name: str = "workload", **fields: Any
) -> specs.Workload:
    """A workload of *tasks*, by name; *fields*: as in a file (``node``, ``streams``, ``host`` ...).

    Raises InputErrors: every mistake, as of a file.
    """
    return parse_workload({"schema": 1, "name": name, **fields, "tasks": dict(tasks)})


def gemm(m: int, n: int, k: int, **fields: Any) -> TaskFields:
    """C[m, n] = A[m, k] B[k, n]; *fields*: dtype, batch, stream, after ..."""
    return {"kind": "gemm", "m": m, "n": n, "k": k, **fields}


def collective(op: str, size: float | str, **fields: Any) -> TaskFields:
    """*op* over all GPUs; *size*: bytes of the full buffer of a GPU, or a text with a unit."""
    return {"kind": "collective", "op": op, "size": size, **fields}


def copy(bytes: float | str, **fields: Any) -> TaskFields:
    """A copy, to the next GPU where *fields* (source, destination, executor ...) say no other."""
    return {"kind": "copy", "bytes": bytes, **fields}


def stream_kernel(bytes: float | str, **fields: Any) -> TaskFields:
    """A kernel that goes over memory; *bytes* of one array, *fields*: pattern, passes ..."""
    return {"kind": "stream", "bytes": bytes, **fields}


def hold(workgroups: int, time: str, **fields: Any) -> TaskFields:
    """*workgroups* that each hold a compute unit for *time*, a text such as ``"1 ms"``."""
    return {"kind": "hold", "workgroups": workgroups, "time": time, **fields}


def from_mapping(given: Mapping[str, Any]) -> specs.Workload | LoadedIteration:
    """A workload made of a mapping, or an iteration where that says ``kind: iteration``; schema and
    name may be left out. Raises InputErrors.
    """
    whole = {"schema": 1, **given}
    if whole.get("kind") == "iteration":
        return parse_iteration({"name": "iteration", **whole})
    return parse_workload({"name": "workload", **whole})


Size = str | float


class Program:
    """Commands for DMA engines, in order; each method adds one and returns the program.

    Every GPU runs it; peers are offsets, GPU (g + peer) mod n. Sizes are text with a unit, or
    bytes. *where*: ``engine`` and ``queue``, numbers from 0; left out: the engine that serves the
    peer. What each command does: ``processes/dma/commands.py``.
    """

    def __init__(self, commands: Iterable[Command | dict[str, Any]] = ()) -> None:
        self.commands: list[dict[str, Any]] = [
            _plain(command) if isinstance(command, Command) else dict(command)
            for command in commands
        ]

    def copy(self, size: Size, peer: int | str = 1, *, pull: bool = False, **where: int) -> Program:
        """*size* bytes to (or, *pull*, from) the peer; ``"host"`` is one as well."""
        way = {"direction": "pull"} if pull else {}
        return self._add("copy", bytes=_bytes(size), peer=peer, **way, **where)

    def broadcast(self, size: Size, peers: Sequence[int], **where: int) -> Program:
        """The same *size* bytes to all *peers*, read once."""
        return self._add("broadcast", bytes=_bytes(size), peers=list(peers), **where)

    def swap(self, size: Size, peer: int, **where: int) -> Program:
        """Exchange *size* bytes with the peer, in place."""
        return self._add("swap", bytes=_bytes(size), peer=peer, **where)

    def reduce(self, size: Size, peer: int, **where: int) -> Program:
        """Add *size* bytes to what the peer has; needs ``dma_engines.reduce_bandwidth``."""
        return self._add("reduce", bytes=_bytes(size), peer=peer, **where)

    def atomic(
        self, word: str, value: int = 1, *, peer: int | None = None, **where: int
    ) -> Program:
        """Add *value* to a word, here or at *peer*, once all before it in the queue has landed."""
        return self._change("atomic", word, value, peer, where)

    def fence(self, word: str, value: int = 1, *, peer: int | None = None, **where: int) -> Program:
        """Set a word to *value*, as :meth:`atomic`."""
        return self._change("fence", word, value, peer, where)

    def poll(self, word: str, value: int = 1, **where: int) -> Program:
        """Hold the queue until this GPU's word is at least *value*."""
        return self._add("poll", on=word, value=value, **where)

    def timestamp(self, name: str, **where: int) -> Program:
        """Note the time under *name*: ``result.tasks["program"].detail["timestamps_s"][name]``."""
        return self._add("timestamp", on=name, **where)

    def workload(
        self, name: str = "program", *, gpus: str = "all", node: str = "mi300x-8", **host: Any
    ) -> specs.Workload:
        """A workload with this program as its task ``program``. *host*: submission, prelaunched,
        threads.

        Raises InputErrors for commands that lack something or wait for ever.
        """
        task = {"kind": "commands", "gpus": gpus, "program": self.commands}
        return parse_workload(
            {"schema": 1, "name": name, "node": node, "tasks": {"program": task}, "host": host}
        )

    def _change(
        self, op: str, word: str, value: int, peer: int | None, where: dict[str, int]
    ) -> Program:
        of_peer = {} if peer is None else {"peer": peer}
        return self._add(op, on=word, value=value, **of_peer, **where)

    def _add(self, op: str, **fields: Any) -> Program:
        self.commands.append({"op": op, **fields})
        return self


def _plain(command: Command) -> dict[str, Any]:
    fields = command.model_dump(exclude_defaults=True)
    return {**fields, "bytes": _bytes(fields["bytes"])} if "bytes" in fields else fields


def _bytes(size: Size) -> str:
    return size if isinstance(size, str) else f"{size:.17g} B"
