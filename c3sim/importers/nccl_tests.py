"""Output of nccl-tests and rccl-tests: text (``-A 1`` columns too, several runs), JSON, CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from c3sim.importers.collector import Collector
from c3sim.importers.nccl_tests_rows import (
    Run,
    add_row,
    column_name,
    name_collective,
    place_names,
    read_header,
    read_table,
    row_of,
)
from c3sim.importers.partial_json import read_members
from c3sim.importers.result import Format, Given, ImportResult, json_with, text_with
from c3sim.importers.values import cells_of, version_of

_DEFAULT = [*["size", "count", "type", "redop", "root"], *["time", "algbw", "busbw", "wrong"] * 2]
_COLUMNS = re.compile(r"#\s+size\s+count\s+type\b")
_ROW = re.compile(r"\s*\d+\s+\d+\s")
_FAILURE = re.compile(
    r"Test (?:NCCL|RCCL|CUDA|HIP)?\s*failure|unhandled \w+ error|Segmentation fault"
)
_WRONG = re.compile(r"# Out of bounds values\s*:\s*(\d+) FAILED")
_FOOTER = ("# Out of bounds values", "# Avg bus bandwidth")


def read(text: str, given: Given) -> ImportResult:
    """Every row of every run in *text*; out-of-place and in-place times become a record each."""
    collector = Collector("nccl-tests", given)
    run, columns = Run(line=1), list[str]()
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        following = read_header(line, number, run)
        if following is not run:
            _finish(run, collector, number - 1)
            run, columns = following, []
        if _COLUMNS.match(line):
            columns = _columns(line, number, collector)
        elif _ROW.match(line):
            name_collective(run, collector, given, number)
            if not columns:
                message = "rows without the line of column names; the usual 13 columns are taken"
                collector.warn(message, number)
                columns = _DEFAULT
            last = number == len(lines)  # no line end: cut off
            _read_row(line, number, columns, run, collector, last)
        elif match := _WRONG.search(line):
            message = "rows with wrong results are left out"
            collector.warn(f"the run had {match[1]} wrong values; {message}", number)
        elif _FAILURE.search(line):
            collector.broken(f"the run reports a failure: {line.strip(' #')}", number)
        run.finished = run.finished or line.startswith(_FOOTER)
    _finish(run, collector, len(lines))
    result = collector.result()
    if not result.records and not result.remarks:
        collector.broken(
            "no rows; expected lines of sizes and times below '# size count type ...'", 1
        )
    return collector.result()


def _columns(line: str, number: int, collector: Collector) -> list[str]:
    """The names of the columns; of a damaged line, the usual ones."""
    columns = [column_name(name) for name in line.split()[1:]]
    counts = {columns.count(name) for name in ("time", "algbw", "busbw")}
    if {"size", "type"} <= set(columns) and len(counts) == 1 and counts <= {1, 2}:
        return columns
    collector.broken(f"expected names of columns: {' '.join(_DEFAULT)}; these are taken", number)
    return _DEFAULT


def _read_row(
    line: str, number: int, columns: list[str], run: Run, collector: Collector, last: bool
) -> None:
    fields = line.split()
    if (
        len(fields) == len(columns) + 3
        and fields[-1].isdigit()
        and not fields[-2].isdigit()
        and "algo" not in columns
    ):
        columns = [*columns, "algo", "proto", "channels"]  # -A 1, without names in the header
    if len(fields) != len(columns):
        cut = "; the line is cut off" if last else ""
        message = f"got {len(fields)} columns; expected {len(columns)}: {' '.join(columns)}{cut}"
        run.rows += 1
        collector.broken(message, number)
        return
    try:
        row = row_of(dict(zip(place_names(columns), fields, strict=True)), number)
    except ValueError as error:
        run.rows += 1
        collector.broken(f"{error}; expected numbers in columns {' '.join(columns)}", number)
        return
    add_row(collector, run, row)


def _finish(run: Run, collector: Collector, line: int) -> None:
    if run.rows and not run.finished:
        reason = "the run did not finish or the file is cut"
        collector.broken(f"the log ends without '# Out of bounds values'; {reason}", line)
    elif not run.rows and run.executable and not run.finished:
        expected = "expected lines of sizes and times"
        collector.broken(f"{run.executable}: a header without rows; {expected}", line)


_VARIABLE = re.compile(r"((?:NCCL|RCCL|HSA|HIP|CUDA)_\w+)=(.*)")
_NO_CONDITION = ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_COMM_ID")


def read_json(text: str, given: Given) -> ImportResult:
    """Every result; of a document that is cut off, those before the cut."""
    collector = Collector("nccl-tests JSON", given)
    document, results, fault = read_members(text, "results")
    if fault is not None:
        collector.broken(fault.message, fault.line)
    if document is None:  # a list, or one object per line
        read_table(results, collector, given)
        return collector.result()
    try:
        run = _run(document)
    except (AttributeError, TypeError, ValueError, IndexError):
        collector.broken("config, args, devices or env are not as nccl-tests writes them", 1)
        run = Run()
    name_collective(run, collector, given, 1)
    for index, result in enumerate(results):
        line = text.count("\n", 0, _position(text, index)) + 1 if "\n" in text else 1
        try:
            row = row_of(_values(result), line)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            expected = "expected size, type, out_of_place and in_place with time and alg_bw"
            collector.broken(f"results[{index}]: {what}; {expected}", line)
            continue
        add_row(collector, run, row)
    if not results:
        collector.broken("no results; expected a list 'results' with one entry per size", 1)
    elif fault is None and "end_time" not in document:
        collector.warn("no end_time: the run may not have finished")
    return collector.result()


def _position(text: str, index: int) -> int:
    """The position at which the entry with that index begins."""
    for count, match in enumerate(re.finditer(r'"size"\s*:', text)):
        if count == index:
            return match.start()
    return 0


def _run(document: Mapping[str, Any]) -> Run:
    config = document.get("config") or {}
    arguments = [str(argument) for argument in document.get("args") or [""]]
    devices = [device for device in config.get("devices") or [] if isinstance(device, dict)]
    run = Run(executable=arguments[0].rsplit("/", 1)[-1] if arguments else "")
    if devices:
        run.device = str(devices[0].get("device_info", "")).strip()
        run.ranks = {
            int(d["rank"]): f"{d.get('hostname')}:{d.get('pid')}" for d in devices if "rank" in d
        }
    threads, each = int(config.get("nthreads", 1)), int(config.get("ngpus", 1))
    run.gpus = max(len(run.ranks), threads * each) or None
    run.settings = {"nThread": str(threads), "nGpus": str(each)}
    names = (("iters", "iterations"), ("warmup", "warmup_iters"), ("graph", "graph"))
    run.settings |= {key: str(int(config[name])) for key, name in names if name in config}
    run.library = "rccl" if "rccl_version" in document else ""
    run.versions = [f"{run.backend}-tests, JSON version {document.get('version')}"]
    code = document.get("nccl_version", document.get("rccl_version"))
    if isinstance(code, int):
        run.versions.append(f"{run.backend.upper()} {version_of(code)}")
    for match in filter(
        None, (_VARIABLE.fullmatch(str(text)) for text in document.get("env") or [])
    ):
        if match[1] == "NCCL_MAX_NCHANNELS" and match[2].isdigit():
            run.channels = int(match[2])
        if match[1] not in _NO_CONDITION:
            run.versions.append(match[0])
    return run


def _values(result: Mapping[str, Any]) -> dict[str, Any]:
    """One entry of ``results`` as columns by name."""
    values = {column_name(name): value for name, value in result.items()}
    for place, key in enumerate(("out_of_place", "in_place")):
        for name, value in (result.get(key) or {}).items():
            values[f"{column_name(name)}:{place}"] = value
    if "time:0" not in values and "time:1" not in values:
        raise ValueError("neither out_of_place nor in_place")
    return values


# CSV output of rccl-tests (``-Z csv``), and tables of the text output with commas.


_NEEDED = {"size", "type"}


def header_line(text: str) -> int:
    """Index of the line that names the columns; -1 when there is none."""
    for index, line in enumerate(text.split("\n")):
        names = {column_name(cell) for cell in line.split(",")} if "," in line else set()
        if names >= _NEEDED and ("time" in names or "time:0" in names):
            return index
    return -1


def read_csv(text: str, given: Given) -> ImportResult:
    """Every row below the line of column names."""
    collector = Collector("nccl-tests CSV", given)
    lines, start = text.split("\n"), header_line(text)
    if start < 0:
        collector.broken(
            "no line of column names; expected size, type, time, algbw, busbw among them", 1
        )
        return collector.result()
    names = [re.sub(r"\s+", " ", cell.strip()) for cell in lines[start].lstrip("# ").split(",")]
    columns = place_names(names)
    run = Run()
    for number, line in enumerate(lines[:start], 1):
        run = read_header(line, number, run)
    rows, numbers = [], []
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = cells_of(line)
        if len(cells) != len(columns):
            cut = "; the line is cut off" if number == len(lines) else ""
            collector.broken(
                f"got {len(cells)} columns; expected {len(columns)}: {','.join(names)}{cut}", number
            )
            continue
        rows.append(dict(zip(columns, (cell.strip() for cell in cells), strict=True)))
        numbers.append(number)
    read_table(rows, collector, given, numbers, run)
    if not rows:
        collector.broken("no rows below the line of column names", start + 1)
    return collector.result()


_SIGNS = (
    *(r"^#[ \t]+size[ \t]+count[ \t]+type", r"^#[ \t]*(?:nccl|rccl)-tests"),
    *("Collective test starting", r"^#[ \t]*nThread"),
)
FORMATS = (
    Format("nccl-tests", 90, text_with(*_SIGNS), read),
    Format(
        "nccl-tests-json",
        30,
        json_with("out_of_place", "in_place", "busBw", "out_of_bounds"),
        read_json,
    ),
    Format("nccl-tests-csv", 80, lambda text: header_line(text) >= 0, read_csv),
)
