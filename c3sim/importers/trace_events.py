"""Events of a Kineto trace with the types that readers rely on; what has others is left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from c3sim.importers.values import as_float
from c3sim.spec.words import counted

LATEST = 1e17  # us: profilers count from 1970 (2e15) or from the start of the machine
MOST = (
    2**53
)  # a number of a trace; beyond it JavaScript, in which viewers are written, cannot count
_NUMBERS = ("correlation", "External id", "bytes")
_EXTENTS = ("Input Dims", "grid", "block")
_LISTS = ("Input Dims", "Input type", "Concrete Inputs", "grid", "block")
_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def sound_events(events: Iterable[Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The events that can be read, their fields typed, and a remark for each kind left out.

    ``name``, ``cat``, ``pid``, ``tid`` become text, ``args`` a mapping without numbers and lists
    that are none. An event of the host without a time is left out; one of the GPU stays as it is,
    so that its reader names it.
    """
    sound, lost = list[dict[str, Any]](), Counter[str]()
    for event in events:
        if not isinstance(event, dict) or event.get("ph", "X") != "X":
            continue
        category = str(event.get("cat", ""))
        typed = {**event, "cat": category, "name": str(event.get("name", ""))}
        typed |= {key: str(event[key]) for key in ("pid", "tid") if key in event}
        typed["args"] = _sound_args(event.get("args"))
        if category.lower() not in _ON_GPU:
            try:
                typed["ts"] = as_time(event["ts"])
                typed["dur"] = as_time(event.get("dur", 0))
            except (KeyError, ValueError):
                lost[category] += 1
                continue
        sound.append(typed)
    return sound, [
        f"{counted(n, 'event')} {what!r} without a time left out" for what, n in lost.items()
    ]


def category_of(event: Mapping[str, Any]) -> str:
    """The category of an event, in small letters; empty where it has none."""
    return str(event.get("cat", "")).lower()


def as_time(value: object) -> float:
    """A time of a trace, in us. Raises ValueError: not a number, negative, or beyond any clock."""
    time = as_float(value)
    if not 0 <= time <= LATEST:
        raise ValueError(f"{time:g} us is no time")
    return time


def _sound_args(args: object) -> Mapping[str, Any]:
    if not isinstance(args, dict):
        return {}
    wrong = [key for key in _NUMBERS if key in args and not _is_count(args[key])]
    wrong += [key for key in _LISTS if key in args and not isinstance(args[key], list)]
    wrong += [key for key in _EXTENTS if key in args and not _is_shape(args[key])]
    return {key: value for key, value in args.items() if key not in wrong} if wrong else args


def _is_count(value: object) -> bool:
    return isinstance(value, int) and abs(value) <= MOST


def _is_shape(value: object) -> bool:
    """True for extents whose product is a number of elements, and for lists of such lists."""
    if not isinstance(value, list):
        return False
    counts = [each for each in value if not isinstance(each, list)]
    lists = [each for each in value if isinstance(each, list)]
    return (
        all(map(_is_count, counts))
        and abs(math.prod(counts)) <= MOST
        and all(map(_is_shape, lists))
    )
