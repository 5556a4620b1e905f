"""One run of nccl-tests or rccl-tests, and one row of it, whatever form the output has."""

from __future__ import annotations

from dataclasses import dataclass, field


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
