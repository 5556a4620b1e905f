"""Rows of nccl-tests and rccl-tests, whatever form the output has: columns, header, records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from c3sim.importers.collector import Collector, us
from c3sim.importers.result import Given
from c3sim.importers.values import (
    DTYPES,
    OP_TASKS,
    OP_WORDS,
    OPS,
    as_float,
    as_int,
    by_spelling,
    collective_of,
    dtype_of,
    size_text,
    version_of,
)


@dataclass(kw_only=True)
class Run:
    """One start of the executable: what its header says."""

    line: int = 0
    executable: str = ""  # all_gather_perf, or AllGather in CSV output
    # rank -> process, where the header lists them
    ranks: dict[int, str] = field(default_factory=dict)
    gpus: int | None = None
    device: str = ""
    library: str = ""  # nccl or rccl
    versions: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)  # nThread, nGpus, iters, graph, ...
    channels: int | None = None  # limit set by the environment
    rows: int = 0
    finished: bool = False

    @property
    def backend(self) -> str:
        """The library; by the vendor of the devices where the log does not name it."""
        return self.library or ("nccl" if "nvidia" in self.device.lower() else "rccl")

    @property
    def one_thread(self) -> bool:
        """One host thread drives all GPUs."""
        processes = len(set(self.ranks.values())) if self.ranks else 1
        threads, gpus = self.settings.get("nThread", "1"), self.settings.get("nGpus", "1")
        return threads == "1" and gpus not in ("0", "1") and processes == 1


@dataclass(frozen=True)
class Timing:
    """Out-of-place or in-place: the figures of one row, *wrong* as printed."""

    time: float
    algbw: float | None
    busbw: float | None
    wrong: str
    in_place: bool


@dataclass(frozen=True, kw_only=True)
class Row:
    """One size."""

    size: int
    dtype: str
    timings: tuple[Timing, ...]
    line: int = 0
    redop: str = ""
    algorithm: str = ""
    protocol: str = ""
    channels: int | None = None


# Columns by name, the same for text, CSV and JSON.
#
# Names differ between versions (``algbw``, ``algBw``, ``alg_bw (GB/s)``): letters count, case and
# units do not.


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


# The header of nccl-tests and rccl-tests: collective, ranks, devices, versions, settings.


_START = re.compile(r"#\s*(nccl-tests|rccl-tests)\b.*?version:?\s+(\S+)", re.IGNORECASE)
_CODES = re.compile(r"(?:nccl|rccl)-library=(\d+)")
_COLLECTIVE = re.compile(r"Collective test starting:\s*(\w+)")
_EXECUTABLE = re.compile(r"(?:^|[\s/])(\w+_perf)\b")
_SETTING = re.compile(
    r"(nThreads?|nGpus|minBytes|maxBytes|graph|iters|warmup iters|agg iters|validation)[: ]+(\d+)"
)
_RANK = re.compile(
    r"#\s*Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+(\d+)\s+on\s+(\S+)"
    r"\s+device\s+\d+\s+\[[^\]]*\]\s*(.*\S)"
)
_VERSION = re.compile(r"\b(NCCL|RCCL|HIP|ROCm|CUDA) version\s*:?\s*([\w.:+-]*\d[\w.:+-]*)")
#: busbw / algbw as a function of the ranks, turned round.
_RANKS_OF = {
    "all_reduce": lambda factor: 2 / (2 - factor),
    "all_gather": lambda factor: 1 / (1 - factor),
    "reduce_scatter": lambda factor: 1 / (1 - factor),
    "all_to_all": lambda factor: 1 / (1 - factor),
}


def read_header(line: str, number: int, run: Run) -> Run:
    """Take over what *line* says. A line that begins another run returns a new one."""
    begins = (
        _START.search(line)
        or _COLLECTIVE.search(line)
        or (line.startswith("#") and "nThread" in line)
    )
    if begins and run.rows:
        run = Run(line=number, executable=run.executable, library=run.library)
    if match := _START.search(line):
        run.library = match[1].lower()[:4]
        run.versions.append(f"{match[1]} {match[2]}")
    if match := _CODES.search(line):
        run.versions.append(f"{run.library.upper() or 'NCCL'} {version_of(int(match[1]))}")
    if match := _COLLECTIVE.search(line) or _EXECUTABLE.search(line):
        run.executable = match[1]
    if line.startswith("#"):
        for key, value in _SETTING.findall(line):
            run.settings[
                {"nThreads": "nThread", "warmup iters": "warmup", "agg iters": "agg"}.get(key, key)
            ] = value
    if match := _RANK.search(line):
        run.ranks[int(match[1])] = f"{match[3]}:{match[2]}"
        run.gpus, run.device = max(run.ranks) + 1, match[4]
    for name, version in _VERSION.findall(line):
        text = f"{name} {version}"
        run.library = run.library or (name.lower() if name in ("NCCL", "RCCL") else "")
        if not any(known.startswith(f"{name} ") for known in run.versions):
            run.versions.append(text)
    return run


def name_collective(run: Run, collector: Collector, given: Given, line: int) -> None:
    """When the header does not name the collective: what the user assumed, or the file name."""
    if run.executable:
        return
    if op := given.assume.get("op"):
        run.executable = op
        return
    named = re.search(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all", given.file.lower())
    run.executable = named[0] if named else "unknown"
    nameless = "the log does not name its collective"
    if named:
        collector.warn(f"{nameless}; {named[0]!r} is taken from the file name", line)
        return
    start = "a line '# Collective test starting: all_gather_perf'"
    expected = f"expected {start} or the command with its executable"
    collector.broken(f"{nameless}; {expected}; or give it: --assume op=", line)


def check_ranks(run: Run, row: Row, collector: Collector) -> None:
    """The ratio of bus to algorithm bandwidth tells the ranks, where both are large and exact."""
    op = collective_of(run.executable)
    algbw, busbw = row.timings[0].algbw, row.timings[0].busbw
    if op is None or algbw is None or busbw is None or algbw < 10 or not busbw > 0:
        return
    factor = busbw / algbw
    limit = 2 if op == "all_reduce" else 1
    ranks = round(_RANKS_OF[op](factor)) if factor < limit * 0.999 else 0
    if run.gpus is None and ranks > 1:
        run.gpus = ranks
        message = f"the header lists no ranks; busbw / algbw of {factor:.3f} is that of {ranks}"
        collector.warn(message, row.line)
    elif run.gpus is not None and ranks and ranks != run.gpus:
        message = f"as with {ranks} ranks, but the header has {run.gpus}"
        collector.warn(f"busbw / algbw is {factor:.3f}, {message}", row.line)


# Records from the rows of nccl-tests and rccl-tests, whatever form the output has.
#
# ``size`` is that of nccl-tests, the full buffer per GPU, as in the workload schema.


RATE_TOLERANCE, RATE_ROUNDING = 0.02, 0.006  # algbw [GB/s] has two decimals, time as many


def add_row(collector: Collector, run: Run, row: Row) -> None:
    """A record for each timing of *row*."""
    check_ranks(run, row, collector)
    run.rows += 1
    op = collective_of(run.executable)
    dtype = dtype_of(row.dtype)
    if op is None:
        what = f"{run.executable!r} is no collective of"
        reason = f"{what} the workload schema; it has: {', '.join(OPS)}"
    elif dtype is None:
        what = f"data type {row.dtype!r} is not in"
        reason = f"{what} the workload schema; it has: {', '.join(sorted(set(DTYPES.values())))}"
    elif row.size == 0:
        reason = "size 0 moves nothing"
    else:
        for timing in row.timings:
            _add_timing(collector, run, row, timing, op, dtype)
        return
    collector.leave_out("row", reason, row.line)


def _add_timing(
    collector: Collector, run: Run, row: Row, timing: Timing, op: str, dtype: str
) -> None:
    place = "in-place" if timing.in_place else "out-of-place"
    if timing.wrong.upper() not in ("N/A", "") and float(timing.wrong) > 0:
        reason = "the results were wrong (#wrong is above 0)"
        unknown = "so nothing is known about a correct run"
        collector.leave_out(f"{place} measurement", f"{reason}, {unknown}", row.line)
        return
    if timing.algbw is not None and timing.time > 0:
        rate = row.size / timing.time / 1e3
        if abs(rate - timing.algbw) > RATE_TOLERANCE * max(rate, timing.algbw) + RATE_ROUNDING:
            message = f"but size and time give {rate:.4g}; one of them is damaged"
            collector.broken(f"{place} algbw is {timing.algbw:g} GB/s, {message}", row.line)
            return
    graph = run.settings.get("graph", "0") not in ("0", "")
    launch = "queued" if graph else "looped"
    where = ", in place" if timing.in_place else ""
    name = f"{OP_WORDS[op]} {size_text(row.size)}{where}{', graph' if graph else ''}"
    collector.add(
        suite=f"{run.backend}_tests_{op}",
        workload={
            "name": name,
            "tasks": {OP_TASKS[op]: _task(run, row, op, dtype)},
            "host": {**({"threads": "single"} if run.one_thread else {}), "launch": launch},
        },
        measured={"isolated": {OP_TASKS[op]: us(timing.time)}},
        software=", ".join(run.versions) or f"{run.backend}-tests, version not in the log",
        facts=_facts(run),
        samples=int(run.settings.get("iters", "0")) or None,
        note=_note(row),
        line=row.line,
        gpus=run.gpus,
    )


def _task(run: Run, row: Row, op: str, dtype: str) -> dict[str, Any]:
    task: dict[str, Any] = {
        "kind": "collective",
        "op": op,
        "size": row.size,
        "dtype": dtype,
        "backend": run.backend,
    }
    channels = row.channels or run.channels
    if channels:
        task["channels"] = channels
    if row.algorithm.lower() in ("ring", "tree", "direct"):
        task["algorithm"] = row.algorithm.lower()
    if row.protocol:
        task["protocol"] = row.protocol.lower()
    return task


def _note(row: Row) -> str:
    parts = ["mean over a loop that launches iterations back to back"]
    if row.algorithm and row.algorithm.lower() not in ("ring", "tree", "direct"):
        parts.append(f"algorithm {row.algorithm}, for which the schema has no name")
    if row.redop and row.redop.lower() not in ("sum", "none"):
        parts.append(f"reduction {row.redop}")
    return "; ".join(parts)


def _facts(run: Run) -> str:
    devices = f"{run.gpus} x {run.device or 'GPU'}" if run.gpus else run.device
    keys = {
        "nThread": "threads",
        "nGpus": "GPUs per thread",
        "warmup": "warm-up iterations",
        "iters": "iterations",
    }
    settings = [f"{run.settings[key]} {text}" for key, text in keys.items() if key in run.settings]
    return ", ".join([*([devices] if devices else []), *settings])
