"""TransferBench, text and CSV output (``OUTPUT_TO_CSV=1``): presets p2p, scaling and a2a, and tests
from a file.

Times follow from the bytes and the rates, which have more digits than the times.

Built for NVIDIA, the tool allocates what a kernel has to know in managed memory (``MEM_MANAGED``
under ``__NVCC__`` in its public source, else ``MEM_GPU``) and reads the cycles of start and stop
from there on the host after every iteration, so that its pages move to and fro.
"""

from __future__ import annotations

import re

from ..collector import Collector
from ..result import Given, ImportResult
from .log import Log
from .matrix import read_matrix
from .p2p import read_p2p
from .scaling import read_scaling
from .tests import read_tests

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
