"""Small grammars of workload files: what ``after`` waits for, the order of tasks, and CU masks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.specs.workload import Workload

_AFTER = re.compile(
    r"(?P<task>[\w-]+)(?:\.tiles\[(?P<tiles>\d+(?:\.\d+)?)%\]|\.tiles\[peer (?P<peer>\d+)\]"
    r"|\.chunk\[(?P<chunk>\d+)\])?"
)
_AFTER_ALLOWED = "write task, task.tiles[25%], task.tiles[peer 1] or task.chunk[0]"
_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


@dataclass(frozen=True, kw_only=True)
class After:
    """What one entry waits for: a *task*, a share of its tiles (0 to 1], those of its tiles that
    belong to the GPU *peer* further round (0: to itself), or a chunk (from 0).
    """

    task: str
    tiles: float | None = None
    peer: int | None = None
    chunk: int | None = None


def parse_after(text: str) -> After:
    """``gemm``, ``gemm.tiles[25%]``, ``gemm.tiles[peer 1]`` or ``gather.chunk[2]``. Raises
    InputError.
    """
    match = _AFTER.fullmatch(text)
    if not match:
        raise InputError(f"{text!r} is not a dependency; {_AFTER_ALLOWED}")
    tiles, peer, chunk = match["tiles"], match["peer"], match["chunk"]
    if tiles is not None and not 0 < float(tiles) <= 100:
        raise InputError(f"{text!r}: {tiles}% of the tiles; must be more than 0% and at most 100%")
    return After(
        task=match["task"],
        tiles=None if tiles is None else float(tiles) / 100,
        peer=None if peer is None else int(peer),
        chunk=None if chunk is None else int(chunk),
    )


def task_order(workload: Workload) -> tuple[str, ...]:
    """Tasks in the order the host launches them; those of one stream run in this order."""
    return workload.host.order or tuple(workload.tasks)


def parse_cu_mask(mask: str | int | None, cus: int) -> tuple[int, ...]:
    """Bits of a CU mask, sorted: a count (the first n), ranges such as ``"0-271,280"``, or None
    (all *cus*).

    Raises InputError for an empty mask, bits that are not there, and text that is no ranges.
    """
    allowed = f"bits are 0 to {cus - 1}, as in '0-{cus - 1}'"
    if mask is None:
        return tuple(range(cus))
    if isinstance(mask, int):
        if not 1 <= mask <= cus:
            raise InputError(f"mask of {mask} compute units; must be 1 to {cus}")
        return tuple(range(mask))
    bits: set[int] = set()
    if not mask.strip():
        raise InputError(f"mask {mask!r} has no compute unit; {allowed}")
    for part in mask.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise InputError(f"{part!r} in mask {mask!r} is no bit or range; {allowed}")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise InputError(f"{part!r} in mask {mask!r} runs backwards; {allowed}")
        if last >= cus:
            raise InputError(
                f"{part!r} in mask {mask!r} is beyond the last compute unit; {allowed}"
            )
        bits.update(range(first, last + 1))
    return tuple(sorted(bits))
