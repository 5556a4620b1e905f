"""hipblaslt-bench and rocblas-bench: a record for each line of values in the log.

hipblaslt-bench names kernels where ``--print_kernel_info`` wrote them. rocblas-bench does not print
the data type: the command above the values states it, or the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from c3sim.importers.collector import Collector, us
from c3sim.importers.result import Format, Given, ImportResult
from c3sim.importers.traces import classify
from c3sim.importers.values import as_float, as_int, cells_of, dtype_of
from c3sim.spec.task import WIDER_RESULTS

_OPTION = r"(?:^|\s){0}[ =]+(\S+)"
_TYPES = ("a_type", "b_type")


def read_hipblaslt(text: str, given: Given) -> ImportResult:
    """A log of hipblaslt-bench."""
    return _read(text, given, "hipblaslt")


def read_rocblas(text: str, given: Given) -> ImportResult:
    """A log of rocblas-bench."""
    return _read(text, given, "rocblas")


def _read(text: str, given: Given, library: str) -> ImportResult:
    collector = Collector(f"{library}-bench", given)
    bench = value_lines(text, collector)
    for values in bench.rows:
        _add(collector, bench, values, library)
    if not bench.rows:
        collector.broken(
            "no values; expected a line 'transA,transB,...' and a line of values below it", 1
        )
    elif not text.endswith("\n"):
        collector.warn("the last line has no line end; the log may be cut", text.count("\n") + 1)
    return collector.result()


def _add(collector: Collector, bench: Bench, values: Values, library: str) -> None:
    columns = values.columns
    rates = [name for name in columns if name.endswith("-gflops")]
    if foreign := [name for name in rates if not name.startswith(library)]:
        message = f"expected {library}-Gflops: this is the log of another library"
        collector.broken(f"column {foreign[0]}; {message}", values.line)
        return
    try:
        m, n, k = (as_int(columns[key]) for key in "mnk")
        time = as_float(columns["us"])
        batch = as_int(columns.get("batch_count") or _option(values.command, "--batch_count") or 1)
    except (KeyError, ValueError) as error:
        what = f"no column {error}" if isinstance(error, KeyError) else str(error)
        expected = "expected whole numbers m, n, k and a time in column us"
        collector.broken(f"{what}; {expected}", values.line)
        return
    if columns.get("grouped_gemm", "0") not in ("0", ""):
        collector.leave_out("grouped GEMM", "the schema has one shape per GEMM", values.line)
        return
    dtype, how = _dtype(values, collector)
    if not dtype:
        collector.leave_out("GEMM", how, values.line)
        return
    if not _agrees(columns, 2.0 * m * n * k * batch, time):
        message = "the rate (Gflops) does not follow from shape and time; one of them is damaged"
        collector.broken(message, values.line)
        return
    task = {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": dtype, "library": library}
    count = _option(values.command, "--iters") or _option(values.command, "-i")
    collector.add(
        suite=f"{library}_bench",
        workload=_workload(task, batch, values),
        measured={"isolated": {"gemm": us(time)}},
        software=", ".join(bench.versions) or f"{library}-bench, version not in the log",
        facts=bench.device,
        samples=int(count) if count.isdigit() and int(count) else None,
        note=how,
        line=values.line,
    )


def _workload(task: dict[str, Any], batch: int, values: Values) -> dict[str, Any]:
    """The workload of *task*, a GEMM, named by its shape and its transposes."""
    shape = "{m}x{n}x{k}".format(**task) + (f" x{batch}" if batch > 1 else "")
    layout = values.columns["transa"] + values.columns["transb"]
    return {
        "name": f"GEMM {shape} {task['dtype']} {layout}, {task['library']}-bench",
        "tasks": {"gemm": _task(task, batch, values)},
    }


def _task(task: dict[str, Any], batch: int, values: Values) -> dict[str, Any]:
    """*task* with batch, type of results, tile and the state of caches, where the log has them."""
    task |= {"batch": batch} if batch > 1 else {}
    output = dtype_of(values.columns.get("d_type", ""))
    if output and output != WIDER_RESULTS.get(task["dtype"], task["dtype"]):
        task["out_dtype"] = output
    if tile := classify(values.kernel).macro_tile:
        task["macro_tile"] = list(tile)
    rotating = values.columns.get("rotating_buffer") or _option(values.command, "--rotating") or "0"
    return {**task, "inputs": "rotating" if rotating.strip() not in ("0", "") else "warm"}


def _option(command: str, name: str) -> str:
    match = re.search(_OPTION.format(re.escape(name)), command)
    return match[1] if match else ""


def _dtype(values: Values, collector: Collector) -> tuple[str, str]:
    """Data type and a note on where it is from; or nothing and why not."""
    given = [values.columns[key] for key in _TYPES if key in values.columns]
    given = given or [text for key in _TYPES if (text := _option(values.command, f"--{key}"))]
    named = (_option(values.command, key) for key in ("-r", "--precision"))
    given = given or [text for text in named if text]
    assumed = collector.given.assume.get("dtype")
    if not given:
        why = "the log does not state the data type; give it: --assume dtype=bf16"
        return (assumed, f"data type {assumed} is assumed") if assumed else ("", why)
    types = {dtype_of(text) for text in given}
    if len(types) > 1 or None in types:
        has = "the schema has bf16, fp16, fp8 and fp32, both operands alike"
        return "", f"operands of type {' and '.join(given)}; {has}"
    output = values.columns.get("d_type", "")
    unknown_type = output and dtype_of(output) is None
    return types.pop() or "", f"output {output}" if unknown_type else ""


def _agrees(columns: dict[str, str], flop: float, time: float) -> bool:
    """True if the printed rate is FLOP / time, where there is one."""
    for name, text in columns.items():
        if name.endswith("gflops"):
            try:
                rate = as_float(text)
            except ValueError:
                return False
            return time > 0 and abs(flop / time / 1e3 - rate) <= 0.03 * rate + 1
    return True


# Logs of hipblaslt-bench and rocblas-bench: a line of column names, lines of values below it.


# no \s, which spans lines: in a text of blank ones every start would look at all that follow
HEADER = re.compile(r"^[ \t]*(?:\[\d+\][ \t]*:?[ \t]*)?(transA,transB,\S.*)$", re.MULTILINE)
_VALUES = re.compile(r"^\s*(?:\[\d+\]\s*:?\s*)?([NTC],\s*[NTC],.*\S)\s*$")
_COMMAND = re.compile(r"\b(hipblaslt|rocblas)-bench\b(.*)")
_VERSION = re.compile(
    r"\b(hipBLASLt|rocBLAS|hipBLAS|ROCm|HIP)\s+(git )?version\s*:?\s*(\S+)", re.IGNORECASE
)
_DEVICE = re.compile(r"Device ID\s+\d+\s*:\s*(.*?)\s*(?:gfx\w+\S*)?\s*$")
_TILE = re.compile(r"(?:Solution|kernel) name\s*:\s*(\S+)", re.IGNORECASE)
_FAILURE = re.compile(r"\b(error|failed|not supported|NO SOLUTION FOUND)\b", re.IGNORECASE)


@dataclass
class Values:
    """One line of values with its columns, and the command and kernel that belong to it."""

    columns: dict[str, str]
    line: int
    command: str
    kernel: str = ""


@dataclass
class Bench:
    """Facts of the log outside its tables."""

    versions: list[str] = field(default_factory=list)
    device: str = ""
    rows: list[Values] = field(default_factory=list)


def value_lines(text: str, collector: Collector) -> Bench:
    """Every line of values; where the log names winners among solutions, only the winners."""
    bench, columns, command = Bench(), list[str](), ""
    lines = text.split("\n")
    winners: list[Values] = []
    winning = False
    for number, line in enumerate(lines, 1):
        _facts(line, bench)
        if match := _COMMAND.search(line):
            command, winning = match[2], False
        if line.strip().lower().startswith("winner"):
            winning = True
        elif match := HEADER.match(line):
            columns = [name.strip().lower() for name in match[1].split(",")]
        elif match := _VALUES.match(line):
            row = _values(match[1], number, number == len(lines), columns, command, collector)
            if row is not None:
                bench.rows.append(row)
                winners += [row] if winning else []
        elif (match := _TILE.search(line)) and bench.rows:
            bench.rows[-1].kernel = match[1]
        elif _FAILURE.search(line):
            collector.warn(f"the log reports: {line.strip()}", number)
    if winners:
        beaten = len(bench.rows) - len(winners)
        collector.warn(
            f"{len(winners)} winners are taken; {beaten} lines of solutions that were tried are not"
        )
        bench.rows = winners
    return bench


def _values(
    text: str, line: int, last: bool, columns: list[str], command: str, collector: Collector
) -> Values | None:
    if not columns:
        collector.broken(
            "values without a line of column names; expected 'transA,transB,...' above them", line
        )
        return None
    fields = [value.strip() for value in cells_of(text)]
    if len(fields) != len(columns):
        cut = "; the line is cut off" if last else ""
        collector.broken(
            f"got {len(fields)} values; expected {len(columns)}: {','.join(columns)}{cut}", line
        )
        return None
    return Values(dict(zip(columns, fields, strict=True)), line, command)


def _facts(line: str, bench: Bench) -> None:
    for name, git, version in _VERSION.findall(line):
        text = f"{name} {git}{version}"
        if text not in bench.versions:
            bench.versions.append(text)
    if match := _DEVICE.search(line):
        bench.device = bench.device or match[1]


def _from_bench(library: str) -> Callable[[str], bool]:
    """A test for output of *library*'s benchmark: its column, or its name beside any header."""

    def recognise(text: str) -> bool:
        headers = [match[1].lower() for match in HEADER.finditer(text)]
        return any(f"{library}-gflops" in header for header in headers) or (
            bool(headers) and f"{library}-bench" in text
        )

    return recognise


FORMATS = (
    Format("hipblaslt-bench", 50, _from_bench("hipblaslt"), read_hipblaslt),
    Format("rocblas-bench", 60, _from_bench("rocblas"), read_rocblas),
)
