"""Measurements of c3sim's own records, each beside what the model says of the same run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from c3sim import load_hardware
from c3sim.spec.reading.records import parse_record
from c3sim.spec.record import Record
from c3sim.validation.compare.figures import compare_record
from c3sim.validation.compare.measurements import merge
from c3sim.validation.compare.record_files import record_files

PREDICTIONS = Path(__file__).resolve().parents[1] / "docs" / "predictions"


@dataclass(frozen=True)
class Row:
    """A time of *task* (or of all, ``wall``) in *run*, by itself if it is *alone*."""

    run: str
    task: str
    alone: bool
    measured: float
    model: float
    unit: str
    node: str
    source: str
    role: str


def rows(suite: str, names: Sequence[str], node: str = "") -> list[Row]:
    """Every figure of the records of *suite* that are called *names*, in their order."""
    found = sorted(_merged(suite, names, node), key=lambda each: names.index(each.workload.name))
    missing = set(names) - {record.workload.name for record in found}
    if missing:
        raise ValueError(f"suite {suite} has no record {sorted(missing)}")
    return [row for record in found for row in _figures(record)]


def _merged(suite: str, names: Sequence[str], node: str) -> list[Record]:
    """One record per measurement: repeats as their mean."""
    lines = (line for file in record_files() for line in _lines(file, suite))
    wanted = (line for line in lines if json.loads(line)["workload"]["name"] in names)
    records = [parse_record(line) for line in wanted]
    return [each.record for each in merge(each for each in records if node in ("", each.node))]


def _lines(file: Path, suite: str) -> Iterator[str]:
    mark = f'"suite": "{suite}"'
    return (line for line in file.read_text(encoding="utf-8").split("\n") if mark in line)


def _figures(record: Record) -> Iterator[Row]:
    """Its times; slowdowns follow from them."""
    source = f"{record.source}; {record.software}"
    for figure in compare_record(load_hardware(record.node).node, record):
        if figure.unit == "us":
            times = (figure.measured / 1e3, figure.predicted / 1e3, "ms")
            what = (record.workload.name, figure.task or "wall", "isolated" in figure.metric)
            yield Row(*what, *times, record.node, source, record.role)


def iteration(name: str) -> dict[str, tuple[float, float]]:
    """Times of the training or inference step *name* on two H200 [s]: the measured median and what
    was predicted, by mode: ``compute`` alone, ``communication`` alone, ``together``.
    """
    runs = {run["mode"]: run for run in _lines_of("h200-2-iterations-run1") if run["name"] == name}
    (predicted,) = (each for each in _lines_of("h200-2-iterations") if each["name"] == name)
    return {
        mode: (median(runs[mode]["iterations_s"]), predicted[f"{mode}_s"])
        for mode in ("compute", "communication", "together")
    }


def _lines_of(name: str) -> list[dict[str, Any]]:
    text = (PREDICTIONS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def behind_two_kernels() -> dict[str, float]:
    """Connections -> us until a kernel had begun that was launched behind two of another stream, of
    100 us each, one behind the other; on one H200.
    """
    file = files("c3sim.validation").joinpath("data/kernels/h200-queue-kinds.jsonl.gz")
    lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    return {line["connections"]: line["behind_us"] for line in lines if line["kind"] == "kernel"}
