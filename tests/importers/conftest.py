"""Logs in data/: cut from real runs, or, where the name says so, written from documentation and
never measured.

The real ones are from four H200s. No such node is packaged; ``load_records`` takes any node name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from c3sim.importers import Given, ImportResult
from c3sim.spec.reading.records import load_records

DATA = Path(__file__).parent / "data"


@pytest.fixture
def data() -> Path:
    return DATA


@pytest.fixture
def text() -> Callable[[str], str]:
    return lambda name: (DATA / name).read_text(encoding="utf-8")


@pytest.fixture
def given() -> Callable[..., Given]:
    def make(**changes: object) -> Given:
        return Given(**{"node": "h200-4", "origin": "a log", **changes})

    return make


@pytest.fixture
def written(tmp_path: Path) -> Callable[[ImportResult], list]:
    """The records of a result after a round trip through a file, checked as any record file is."""

    def round_trip(result: ImportResult) -> list:
        path = tmp_path / "records.jsonl"
        path.write_text(
            "".join(json.dumps(record) + "\n" for record in result.records), encoding="utf-8"
        )
        return load_records(path)

    return round_trip
