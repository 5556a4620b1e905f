"""The header of nccl-tests and rccl-tests: collective, ranks, devices, versions, settings."""

from __future__ import annotations

import re

from ..collector import Collector
from ..names import collective_of, version_of
from ..result import Given
from .run import Row, Run

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
