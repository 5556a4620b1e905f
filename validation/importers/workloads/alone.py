"""Isolated times: of equal kernels, the shortest one that ran with nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..traces.intervals import overlaps
from .trace import Work

Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Alone:
    """Of equal kernels: how many there are, how many ran alone, and the shortest of those [us]."""

    count: int
    alone: int
    time: float | None


def keys_of(works: Iterable[Work]) -> dict[int, Key]:
    """By id of each work: what it has in common with its repeats.

    Name, grid, block, bytes, and the operator's shapes; of an operator that launches several
    kernels of a name, their place in it.
    """
    keys: dict[int, Key] = {}
    places: dict[tuple[object, ...], int] = {}
    for work in works:
        args, operator = work.args, work.operator
        shapes = (operator.get("args") or {}).get("Input Dims")
        plain: Key = (
            work.name,
            json.dumps([args.get("grid"), args.get("block"), args.get("bytes"), shapes]),
            *((json.dumps(message_of(work)),) if work.is_collective else ()),
        )
        place = 0
        if operator:
            call = (operator.get("ts"), operator.get("pid"), operator.get("tid"), work.name)
            place = places.get(call, 0)
            places[call] = place + 1
        keys[id(work)] = (*plain, str(place))
    return keys


def message_of(work: Work) -> list[object]:
    """What equal collectives have in common."""
    names = ("Collective name", "In msg nelems", "Out msg nelems", "dtype", "Process Group Name")
    return [work.args.get(name) for name in names]


def times_alone(
    works: Sequence[Work], keys: Mapping[int, Key], *, timed: bool = True
) -> dict[Key, Alone]:
    """*works*: all of one device, in order of start; *timed*: their times say what ran beside what,
    else all that have a time ran alone. A collective's time has its wait for others; see ranks.py.
    """
    beside = overlaps([work.interval() for work in works]) if timed else [False] * len(works)
    counts: dict[Key, int] = {}
    alone: dict[Key, list[float]] = {}
    for work, shared in zip(works, beside, strict=True):
        key = keys[id(work)]
        counts[key] = counts.get(key, 0) + 1
        if not shared and work.duration > 0:
            alone.setdefault(key, []).append(work.duration)
    return {
        key: Alone(
            count=count, alone=len(alone.get(key, ())), time=min(alone.get(key, ()), default=None)
        )
        for key, count in counts.items()
    }
