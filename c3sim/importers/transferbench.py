"""TransferBench, text and CSV output (``OUTPUT_TO_CSV=1``): presets p2p, scaling and a2a, and tests
from a file.

Times follow from the bytes and the rates, which have more digits than the times.

Built for NVIDIA, the tool allocates what a kernel has to know in managed memory (``MEM_MANAGED``
under ``__NVCC__`` in its public source, else ``MEM_GPU``) and reads the cycles of start and stop
from there on the host after every iteration, so that its pages move to and fro.
"""

from __future__ import annotations

import re

from c3sim.importers.collector import Collector
from c3sim.importers.result import Format, Given, ImportResult, text_with
from c3sim.importers.transferbench_log import Log, Transfer, add_test
from c3sim.importers.transferbench_tables import read_matrix, read_p2p, read_scaling
from c3sim.importers.values import as_float, as_int, cells_of

_VERSION = re.compile(r"TransferBench v([\w.]+)")
_SETTING = re.compile(r"([A-Z][A-Z0-9_]+)\s*[=,]\s*(-?\d+)\s*[:,]")


def read(text: str, given: Given) -> ImportResult:
    """Every copy that the workload schema can express; the others are named."""
    collector = Collector("TransferBench", given)
    lines = text.split("\n")
    version = _VERSION.search(text)
    settings = {match[1]: int(match[2]) for match in map(_SETTING.match, lines) if match}
    log = Log(
        lines=tuple(lines),
        settings=settings,
        ended=text.endswith("\n"),
        managed="NVIDIA" in given.gpu,
        software=f"TransferBench {version[1]}"
        if version
        else "TransferBench, version not in the log",
        gpus=settings.get("NUM_GPU_DEVICES")
        or (int(given.assume["gpus"]) if "gpus" in given.assume else None),
    )
    counts = [reader(log, collector) for reader in (read_p2p, read_scaling, read_tests)]
    if not counts[2]:
        counts.append(read_matrix(log, collector))
    if not any(counts):
        expected = (
            "a p2p or scaling table, 'Test 0:' with its Transfer lines, or an all-to-all summary"
        )
        collector.broken(f"no results in the log; expected {expected}", len(lines))
    return collector.result()


# Tests that list their transfers, text and CSV: preset a2a, tests of a configuration file.


_TEST = re.compile(r"\s*Test (\d+):")
_EXECUTOR = re.compile(
    r"\s*Executor:\s*(\w+?)\s+(\d+)\S*\s*\|\s*(\d+(?:\.\d+)?) GB/s\s*\|.*?\|\s*(\d+) bytes"
)
_TRANSFER = re.compile(
    r"\s*Transfer\s+\d+\s*\|\s*(\d+(?:\.\d+)?) GB/s\s*\|.*?\|\s*(\d+) bytes\s*\|\s*"
    r"(\S+)\s*->\s*([A-Za-z]+?)\s*(\d+)(?:\.\d+)?:(\d+)\s*->\s*(\S+)"
)
_COUNT = re.compile(r"\((\d+) Transfers\)")


def _transfer(match: re.Match[str], number: int) -> Transfer:
    """The transfer of a line that matches, which has this *number*."""
    gbps, size, source, executor, index, workgroups, destination = match.groups()
    return Transfer(
        float(gbps),
        int(size),
        source,
        executor.upper(),
        int(index),
        int(workgroups),
        destination,
        number,
    )


def read_tests(log: Log, collector: Collector) -> int:
    """The number of tests in the log."""
    tests: dict[str, list[Transfer]] = {}
    rates: dict[str, dict[int, float]] = {}
    test, expected, header = "", 0, list[str]()
    for number, line in enumerate(log.lines, 1):
        if match := _COUNT.search(line):
            expected = int(match[1])
        if match := _TEST.match(line):
            test = match[1]
        elif match := _EXECUTOR.match(line):
            rates.setdefault(test, {})[int(match[2])] = float(match[3])
        elif match := _TRANSFER.match(line):
            tests.setdefault(test, []).append(_transfer(match, number))
        elif re.match(r"\s*Transfer\s+\d", line) or re.match(r"\s*Executor:", line):
            form = "'Transfer 00 | 96.7 GB/s | 0.694 ms | 67108864 bytes | G0 -> GPU00:004 -> G1'"
            collector.broken(f"not a line of the form {form}; it may be cut off", number)
        elif line.startswith("Test#"):
            header = [cell.strip().lower() for cell in line.split(",")]
        elif header and line.count(",") >= 7:
            _read_csv(line, number, header, tests, collector)
    count = sum(map(len, tests.values()))
    if tests and expected and count < expected:
        collector.broken(f"{count} of {expected} transfers are in the log", len(log.lines))
        return len(tests)
    preset = "a2a" if any("All-To-All" in line for line in log.lines) else "tests"
    for name, transfers in tests.items():
        title = "all to all" if preset == "a2a" else f"T{name}"
        add_test(log, collector, title, preset, transfers, rates.get(name, {}))
    return len(tests)


def _read_csv(
    line: str,
    number: int,
    header: list[str],
    tests: dict[str, list[Transfer]],
    collector: Collector,
) -> None:
    values = dict(zip(header, (cell.strip() for cell in cells_of(line)), strict=False))
    try:
        if not values["transfer#"].isdigit():
            return  # sums over transfers
        kind = re.fullmatch(r"([A-Za-z]+)\s*(\d+)\S*", values["exe"])
        if kind is None:
            raise ValueError(f"executor {values['exe']!r}")
        transfer = Transfer(
            as_float(values["bw(gb/s)"]),
            as_int(values["numbytes"]),
            values["src"],
            kind[1].upper(),
            int(kind[2]),
            as_int(values["cus"]),
            values["dst"],
            number,
        )
    except (KeyError, ValueError) as error:
        columns = "Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s)"
        collector.broken(
            f"{error}; expected the columns {columns}; the line may be cut off", number
        )
        return
    tests.setdefault(values["test#"], []).append(transfer)


_SIGNS = (
    *("TransferBench v", "^Bytes Per Direction", "Scaling benchmark:", "All-To-All benchmark"),
    *("^ ?Executor: ", "^Test#,"),
)
FORMATS = (Format("transferbench", 40, text_with(*_SIGNS), read),)
