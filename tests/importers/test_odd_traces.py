"""Traces that a profiler never wrote: every one is read in part, or refused in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kineto_case import MadeTrace

from c3sim.errors import InputError, InputErrors
from c3sim.importers import kineto
from c3sim.importers.trace_events import sound_events
from c3sim.importers.workloads import build as building
from c3sim.importers.workloads.build import build
from c3sim.importers.workloads.trace import read_trace
from c3sim.spec.reading.hardware import load_node

NODE = load_node("h200-2")
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
ODD_FIELDS: dict[str, dict[str, Any]] = {
    "no time": {"ts": None},
    "a text for a time": {"ts": "x"},
    "a text for a duration": {"dur": "x"},
    "a time beyond any clock": {"ts": 1e308},
    "texts for numbers": {
        "args": {"correlation": "a", "External id": "b", "Input Dims": "c", "Input type": 5}
    },
    "shapes of anything": {
        "args": {"Input Dims": [[4, None]], "grid": [10**400], "bytes": 10**400}
    },
    "more elements than there are": {"args": {"Input Dims": [[512] * 3000, [512, 512]]}},
    "mappings for numbers": {"args": {"correlation": {"a": 1}, "External id": [2], "stream": [1]}},
    "no args": {"args": None},
    "a mapping for a thread": {"tid": {"a": 2}, "pid": None},
    "a number for a name": {"name": 5},
}
KINDS = ("kernel", "cuda_runtime", "cpu_op", "user_annotation", "cuda_sync")


def plain() -> MadeTrace:
    made = MadeTrace()
    for turn in range(3):
        begin = 1000.0 + 300 * turn
        dims = [[4096, 4096], [4096, 4096]]
        made.kernel(GEMM, begin, 200, called=begin - 100, operator="aten::mm", dims=dims)
    return made


def odd_traces() -> Iterator[Any]:
    """The plain trace with one more event of each kind that has an odd field."""
    for kind in KINDS:
        for what, fields in ODD_FIELDS.items():
            name = "ProfilerStep#1" if kind == "user_annotation" else "cudaStreamWaitEvent"
            event = {"ph": "X", "cat": kind, "name": name, "ts": 890.0, "dur": 400.0, "args": {}}
            document = json.loads(plain().text())
            document["traceEvents"].append({**event, **fields})
            yield pytest.param(json.dumps(document), id=f"{kind}, {what}")


@pytest.mark.parametrize("text", list(odd_traces()))
def test_an_odd_event_costs_no_other(text: str, given: Any) -> None:
    """The three GEMMs are there, whatever stands beside them."""
    read = kineto.read(text, given())
    assert sum(each.isolated + each.concurrent for each in read.kernels if each.name == GEMM) == 3
    built = build([read_trace(text, "odd.json")], NODE, None)
    assert sum(work.name == GEMM for work in built.works.values()) >= 1


def refused(text: str) -> str:
    with pytest.raises((InputError, InputErrors)) as error:
        build([read_trace(text, "odd.json")], NODE, None)
    return str(error.value)


def test_what_cannot_become_a_workload_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = plain().text().replace("1000.0", "9" * 5000, 1)
    assert "a number of too many digits" in refused(digits)
    document = json.loads(plain().text())
    mark = {"ph": "X", "cat": "user_annotation", "ts": 5e6, "dur": 1.0}
    document["traceEvents"].append({**mark, "name": "ProfilerStep#1"})
    assert "no kernel was launched within the marked step" in refused(json.dumps(document))
    instant = MadeTrace()
    instant.kernel(GEMM, 5, 0)
    assert "has no duration" in refused(instant.text())
    monkeypatch.setattr(building, "MOST_TASKS", 2)
    assert "has 3 kernels; a workload has 2 at most: mark steps" in refused(plain().text())


def test_events_left_out_are_counted_by_their_kind() -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm"}
    sound, remarks = sound_events([event, event, 3, {**event, "ts": 1.0, "pid": 2}])
    assert [each["pid"] for each in sound] == ["2"]
    assert remarks == ["2 events 'cpu_op' without a time left out"]


def test_more_kernels_at_once_than_a_gpu_has_room_for_are_refused(given: Any) -> None:
    """Each event a thousand times: as many pairs as the square of that, of no meaning."""
    document = json.loads(plain().text())
    document["traceEvents"] *= 1000
    with pytest.raises(InputError, match=r"more than 256 kernels of device '0' run at once"):
        kineto.read(json.dumps(document), given())
