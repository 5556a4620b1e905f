"""Columns by name, the same for text, CSV and JSON.

Names differ between versions (``algbw``, ``algBw``, ``alg_bw (GB/s)``): letters count, case and
units do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..collector import Collector
from ..names import by_spelling
from ..numbers import as_float, as_int
from ..result import Given
from .header import name_collective
from .rows import add_row
from .run import Row, Run, Timing

_SAME = by_spelling(
    {
        "collective": "name collname op",
        "wrong": "wrong nwrong errors numwrong",
        "type": "datatype dtype",
        "time": "timeus",
        "size": "bytes sizeb",
        "algo": "algorithm",
        "proto": "protocol",
        "channels": "nchannels",
        "ranks": "nranks",
        "algbw": "algbwgbs",
        "busbw": "busbwgbs",
        "inplace": "isinplace",
    }
)
_PREFIXES = (("outofplace", 0), ("oop", 0), ("inplace", 1), ("ip", 1))
_FIGURES = ("time", "algbw", "busbw", "wrong")


def column_name(text: str) -> str:
    """``algBw (GB/s)`` -> ``algbw``; ``in_place_time`` -> ``time:1``; ``Size(B)`` -> ``size``."""
    if re.fullmatch(r"[a-z]+:[01]", text):
        return text  # short already
    plain = re.sub(r"[^a-z]", "", re.sub(r"\(.*?\)", "", text.lower()))
    for prefix, place in _PREFIXES:
        rest = plain.removeprefix(prefix)
        if rest != plain and _SAME.get(rest, rest) in _FIGURES:
            return f"{_SAME.get(rest, rest)}:{place}"
    return _SAME.get(plain, plain)


def read_table(
    rows: Iterable[Any],
    collector: Collector,
    given: Given,
    lines: Iterable[int] = (),
    run: Run | None = None,
) -> Run:
    """Records from *rows*, column to value, on *lines*; *run*: what a header said."""
    run, numbers = run or Run(), list(lines)
    for index, raw in enumerate(rows):
        line = numbers[index] if index < len(numbers) else index + 1
        values = (
            {column_name(str(key)): value for key, value in raw.items()}
            if isinstance(raw, Mapping)
            else {}
        )
        try:
            row = row_of(values, line)
        except (KeyError, ValueError, TypeError) as error:
            what = f"no column {error}" if isinstance(error, KeyError) else str(error)
            collector.broken(f"{what}; expected size, type, time, algbw and busbw", line)
            continue
        run.executable = str(values.get("collective", "") or run.executable)
        name_collective(run, collector, given, line)
        _take_over(values, run, given, collector, line)
        add_row(collector, run, row)
    return run


def _take_over(
    values: Mapping[str, Any], run: Run, given: Given, collector: Collector, line: int
) -> None:
    if str(values.get("ranks", "")).strip().isdigit():
        run.gpus = as_int(values["ranks"])
    run.gpus = run.gpus or (int(given.assume["gpus"]) if "gpus" in given.assume else None)
    if str(values.get("nodes", "1")).strip() not in ("", "1"):
        collector.warn(f"measured on {values['nodes']} nodes; the record says it is one node", line)
    if str(values.get("gpusperrank", "")).strip().isdigit():
        run.settings.setdefault("nGpus", str(values["gpusperrank"]).strip())
    if not run.library and not run.device:
        run.library = "rccl" if "rank" in "".join(values) else ""


def place_names(columns: Sequence[str]) -> list[str]:
    """*columns* by their short names; of two with one name, the first is out of place (``:0``)."""
    names = [column_name(name) for name in columns]
    return [
        f"{name}:{names[:index].count(name)}"
        if names.count(name) == 2 and name in _FIGURES
        else name
        for index, name in enumerate(names)
    ]


def row_of(values: Mapping[str, Any], line: int) -> Row:
    """The row of *values*, by short name. Raises KeyError, ValueError and TypeError."""
    timings = [
        _timing(values, f":{place}", in_place=bool(place))
        for place in (0, 1)
        if any(f"{name}:{place}" in values for name in _FIGURES)
        and values.get(f"time:{place}") != "N/A"
    ]
    if not timings:
        flag = str(values.get("inplace", "0")).strip().lower()
        timings = [_timing(values, "", in_place=flag in ("1", "true", "yes", "in-place"))]
    channels = _known(values.get("channels"))
    return Row(
        size=as_int(values["size"]),
        dtype=str(values["type"]).strip(),
        timings=tuple(timings),
        line=line,
        redop=str(values.get("redop", "")).strip(),
        algorithm=_known(values.get("algo")),
        protocol=_known(values.get("proto")),
        channels=int(channels) if channels.isdigit() and int(channels) else None,
    )


def _known(value: object) -> str:
    """Text of *value*; empty where the log says that it does not know it."""
    text = "" if value is None else str(value).strip()
    return "" if text.upper() in ("N/A", "UNKNOWN", "-", "-1") else text


def _timing(values: Mapping[str, Any], suffix: str, *, in_place: bool) -> Timing:
    if f"time{suffix}" not in values:
        raise KeyError("time")
    wrong = _known(values.get(f"wrong{suffix}")) or "N/A"
    if wrong != "N/A":
        as_float(wrong)
    rates = [_known(values.get(f"{key}{suffix}")) for key in ("algbw", "busbw")]
    algbw, busbw = (as_float(rate) if rate else None for rate in rates)
    return Timing(as_float(values[f"time{suffix}"]), algbw, busbw, wrong, in_place)
