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
    """*recognise* tells by the text of a file whether it is in the format."""

    name: str
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


def _has(*patterns: str) -> Callable[[str], bool]:
    compiled = re.compile("|".join(patterns), re.MULTILINE)
    return lambda text: compiled.search(text) is not None


def _bench(library: str) -> Callable[[str], bool]:
    def recognise(text: str) -> bool:
        headers = [match[1].lower() for match in HEADER.finditer(text)]
        return any(f"{library}-gflops" in header for header in headers) or (
            bool(headers) and f"{library}-bench" in text
        )

    return recognise


_JSON_OF_NCCL = ("out_of_place", "in_place", "busBw", "out_of_bounds")
_TEXT_OF_NCCL = (
    *(r"^#[ \t]+size[ \t]+count[ \t]+type", r"^#[ \t]*(?:nccl|rccl)-tests"),
    *("Collective test starting", r"^#[ \t]*nThread"),
)
_TRANSFERBENCH = (
    *("TransferBench v", "^Bytes Per Direction", "Scaling benchmark:", "All-To-All benchmark"),
    *("^ ?Executor: ", "^Test#,"),
)
#: In the order in which they are tried.
FORMATS: tuple[Format, ...] = (
    Format("loops", _loop, loops.read),
    Format("kineto", _json_with("traceEvents"), kineto.read),
    Format("nccl-tests-json", _json_with(*_JSON_OF_NCCL), json_reader.read),
    Format("transferbench", _has(*_TRANSFERBENCH), transferbench.read),
    Format("hipblaslt-bench", _bench("hipblaslt"), blas_bench.read_hipblaslt),
    Format("rocblas-bench", _bench("rocblas"), blas_bench.read_rocblas),
    Format("rocprofv3", _has(r"\bKernel_Name\b.*\bStart_Timestamp\b"), rocprofv3.read),
    Format("nccl-tests-csv", lambda text: csv_reader.header_line(text) >= 0, csv_reader.read),
    Format("nccl-tests", _has(*_TEXT_OF_NCCL), text_reader.read),
)


def find_format(name: str, text: str, file: str) -> Format:
    """The format called *name*, or with ``auto`` the one *text* is in. Raises InputError."""
    names = [each.name for each in FORMATS]
    if name not in ("auto", *names):
        raise InputError(unknown("format", name, ["auto", *names]), "--format")
    for each in FORMATS:
        if each.name == name or (name == "auto" and each.recognise(text)):
            return each
    message = f"in no known format ({', '.join(names)}); --format names one"
    raise InputError(message, file=file)
