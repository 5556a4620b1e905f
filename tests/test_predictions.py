"""The predictions that were written down before the measurement are those of the runs that were
measured.
"""

import json
from pathlib import Path

import pytest

from c3sim.validation.compare.record_files import load

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent.parent / "docs" / "predictions"


def test_every_c3_run_on_two_h200_was_predicted():
    lines = [
        json.loads(line)
        for line in (FOLDER / "h200-2-c3.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    predicted = {
        (line["step"].startswith("c3_partition"), line["workload"]): line for line in lines
    }
    measured = {
        (record.suite == "h200_c3_partition", record.workload.name): record
        for record in load()
        if record.suite.startswith("h200_c3")
    }
    assert len(lines) == len(predicted) == 364 and predicted.keys() == measured.keys()
    for name, record in measured.items():
        assert set(predicted[name]["tasks"]) == set(record.workload.tasks), name
