"""DMA command programs in Python: commands, added by methods, that become a workload.

    program = Program()
    for peer in range(1, 8):
        program.copy("64 KiB", peer=peer)
    c3sim.run(program.workload(submission="direct"), node="mi300x-8")

Every GPU runs the program; peers are offsets, GPU (g + peer) mod n. Without an engine a command
goes to the one that serves its peer. Sizes are text with a unit, or bytes. What each command does:
``processes/dma/commands.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from c3sim.input.loading import parse_workload
from c3sim.specs.commands import Command
from c3sim.specs.workload import Workload

Size = str | float


class Program:
    """Commands for DMA engines, in order; each method adds one and returns the program.

    *where*: ``engine`` and ``queue``, numbers from 0.
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
    ) -> Workload:
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
