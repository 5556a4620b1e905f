"""A workload as text and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_workload
from c3sim.spec.reading.write import workload_text


@pytest.mark.parametrize("name", names("workload"))
def test_the_text_reads_back_as_the_same_workload(name: str, tmp_path: Path) -> None:
    workload = load_workload(name)
    file = tmp_path / "w.yaml"
    file.write_text(workload_text(workload, "again"))
    assert load_workload(file) == workload
