"""The real trace that the tests change."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest


@pytest.fixture
def trace(data: Path) -> str:
    return gzip.decompress((data / "kineto_h200x4_rank0.json.gz").read_bytes()).decode()
