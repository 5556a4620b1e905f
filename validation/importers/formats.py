"""The formats that can be imported: how to know each by its content, and who reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.input.hints import unknown

from .blas_bench import reader as blas_bench
from .blas_bench.lines import HEADER
from .kineto import reader as kineto
from .loops import reader as loops
from .nccl_tests import csv_reader, json_reader, text_reader
from .result import Given, ImportResult
from .rocprof import reader as rocprofv3
from .transferbench import reader as transferbench


@dataclass(frozen=True)
class Format:
    """*recognise* looks at the text of a file; *sign* says in words what it looks for."""

    name: str
    description: str
    sign: str
    recognise: Callable[[str], bool]
    read: Callable[[str, Given], ImportResult]


def _json_with(*keys: str) -> Callable[[str], bool]:
    def recognise(text: str) -> bool:
        return text.lstrip()[:1] in ("{", "[") and any(
            re.search(rf'"{key}"\s*:', text, re.IGNORECASE) for key in keys
        )

    return recognise


def _loop(text: str) -> bool:
    return _json_with("traceEvents")(text) and re.search(r'"loop"\s*:\s*\{', text) is not None


def _has(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda text: compiled.search(text) is not None


def _bench(library: str) -> Callable[[str], bool]:
    def recognise(text: str) -> bool:
        headers = [match[1].lower() for match in HEADER.finditer(text)]
        return any(f"{library}-gflops" in header for header in headers) or (
            bool(headers) and f"{library}-bench" in text
        )

    return recognise


#: In the order in which they are tried.
FORMATS: tuple[Format, ...] = (
    Format(
        "loops",
        "PyTorch profiler traces of a loop, one per rank, from validation/frameworks",
        'JSON with "traceEvents" and "loop"',
        _loop,
        loops.read,
    ),
    Format(
        "kineto",
        "PyTorch profiler trace (.json, .json.gz)",
        'JSON with "traceEvents"',
        _json_with("traceEvents"),
        kineto.read,
    ),
    Format(
        "nccl-tests-json",
        "JSON output of nccl-tests and rccl-tests",
        'JSON with "out_of_place" or "busBw"',
        _json_with("out_of_place", "in_place", "busBw", "out_of_bounds"),
        json_reader.read,
    ),
    Format(
        "transferbench",
        "TransferBench, text and CSV",
        "'TransferBench v...' or its tables",
        _has(
            r"TransferBench v|^Bytes Per Direction|Scaling benchmark:|All-To-All benchmark"
            r"|^ ?Executor: |^Test#,"
        ),
        transferbench.read,
    ),
    Format(
        "hipblaslt-bench",
        "hipblaslt-bench log",
        "a line 'transA,transB,...,hipblaslt-Gflops,...,us'",
        _bench("hipblaslt"),
        blas_bench.read_hipblaslt,
    ),
    Format(
        "rocblas-bench",
        "rocblas-bench log",
        "a line 'transA,transB,...,rocblas-Gflops,us'",
        _bench("rocblas"),
        blas_bench.read_rocblas,
    ),
    Format(
        "rocprofv3",
        "kernel-trace CSV of rocprofv3",
        "columns Kernel_Name, Start_Timestamp, End_Timestamp",
        _has(r"\bKernel_Name\b.*\bStart_Timestamp\b"),
        rocprofv3.read,
    ),
    Format(
        "nccl-tests-csv",
        "CSV output of rccl-tests and nccl-tests",
        "columns size, type, time, algbw, busbw",
        lambda text: csv_reader.header_line(text) >= 0,
        csv_reader.read,
    ),
    Format(
        "nccl-tests",
        "text output of nccl-tests and rccl-tests (-A 1 too)",
        "a line '# size count type ... time algbw busbw'",
        _has(
            r"^#\s+size\s+count\s+type|^#\s*(?:nccl|rccl)-tests"
            r"|Collective test starting|^#\s*nThread"
        ),
        text_reader.read,
    ),
)


def find_format(name: str, text: str, file: str) -> Format:
    """The format called *name*, or with ``auto`` the one *text* is in. Raises InputError that lists
    all formats.
    """
    if name != "auto":
        chosen = next((each for each in FORMATS if each.name == name), None)
        if chosen is None:
            raise InputError(
                unknown("format", name, ["auto", *(each.name for each in FORMATS)]), "--format"
            )
        return chosen
    chosen = next((each for each in FORMATS if each.recognise(text)), None)
    if chosen is None:
        known = "; ".join(f"{each.name} ({each.sign})" for each in FORMATS)
        raise InputError(
            f"in none of the formats that can be imported: {known}; --format names one", file=file
        )
    return chosen
