"""Interface of an importer: what it is given beside the text of a log, and its result.

An importer opens no file and asks nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["calibration", "validation"]


@dataclass(frozen=True, kw_only=True)
class Given:
    """Facts that a log lacks, from the user; *assume*: facts that it lacks."""

    node: str
    origin: str  # file name and hash, as it goes into the records
    file: str = ""  # file name alone; the last resort for the name of the collective
    role: Role = "validation"
    suite: str = ""  # left out: named after the format
    # of the node, where it is known: measurements on another number are left out
    gpus: int | None = None
    assume: Mapping[str, str] = field(default_factory=dict)  # op, size, dtype, m, n, k, gpus
    profiles: tuple[str, ...] = ()  # of hosts, that the node describes
    gpu: str = ""  # name of the node's GPU, where it is known


@dataclass(frozen=True)
class Remark:
    """*line* is 0 where there is none; *lost*: something could not be read."""

    message: str
    line: int = 0
    lost: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True, kw_only=True)
class KernelTimes:
    """All instances of one kernel: medians [us], alone and beside kernels of other streams."""

    name: str
    kind: Literal["gemm", "collective", "other"]
    what: str  # shape or size in words; empty when the trace lacks it
    streams: tuple[str, ...]
    isolated: int
    isolated_us: float | None
    concurrent: int
    concurrent_us: float | None
    # of a concurrent instance: how long a kernel of another stream ran beside it
    overlap_us: float | None

    @property
    def slowdown(self) -> float | None:
        """Concurrent median over isolated median; None when the trace holds only one of them."""
        if self.isolated_us is None or self.concurrent_us is None:
            return None
        return self.concurrent_us / self.isolated_us


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """One device of a trace [us]: how long GEMMs ran, collectives ran, both did; *exposed*: how
    long a collective, which waits for its peers inside, ran and no kernel that computes did.
    """

    device: str
    gemm_us: float
    collective_us: float
    both_us: float
    exposed_us: float


@dataclass(frozen=True, kw_only=True)
class LoopTrace:
    """The trace of one rank of a loop: what it says of the loop, and per task [start, end] [us] of
    every turn.
    """

    about: Mapping[str, Any]
    turns: Mapping[str, Sequence[tuple[float, float]]]
    software: str
    facts: str
    backend: str


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    """Records, ready to be written as JSON, and what was not carried over, with its line."""

    format: str
    records: tuple[dict[str, Any], ...] = ()
    remarks: tuple[Remark, ...] = ()
    kernels: tuple[KernelTimes, ...] = ()  # traces only
    overlaps: tuple[Overlap, ...] = ()  # traces only
    loops: tuple[LoopTrace, ...] = ()  # of one rank; records need those of all

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(str(remark) for remark in self.remarks)

    @property
    def partial(self) -> bool:
        """Something in the log could not be read, or its end is missing."""
        return any(remark.lost for remark in self.remarks)


@dataclass(frozen=True)
class Format:
    """A format of logs; *recognise* tells by the text of a file whether it is in the format.

    Formats are tried by *turn*, the least first: one that reads a special case goes before the
    general one.
    """

    name: str
    turn: int
    recognise: Callable[[str], bool]
    read: Callable[[str, Given], ImportResult]


def json_with(*keys: str) -> Callable[[str], bool]:
    """A test for JSON text that has any of *keys*, whatever their case."""

    def recognise(text: str) -> bool:
        return text.lstrip()[:1] in ("{", "[") and any(
            re.search(rf'"{key}"\s*:', text, re.IGNORECASE) for key in keys
        )

    return recognise


def text_with(*patterns: str) -> Callable[[str], bool]:
    """A test for text in which any of *patterns* occurs."""
    compiled = re.compile("|".join(patterns), re.MULTILINE)
    return lambda text: compiled.search(text) is not None
