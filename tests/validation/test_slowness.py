"""The slowness of a host, from lines as the drivers write them, here with made-up times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from c3sim.errors import InputError
from c3sim.validation.frameworks.slowness import lines_of, quick_times, quickest, slowness

QUICK = quick_times("h200-2")
FORWARD, BOTH = ("layer_decoder", "forward"), ("layer_decoder", "both")


def line(call: tuple[str, str], times: float, rank: int = 0, **more: Any) -> dict[str, Any]:
    """A call that took so many *times* as long as on record; one repeat was disturbed."""
    us = times * QUICK[call]
    about = {"call": call[0], "phase": call[1], "mode": "together", "rank": rank, "count": 16}
    return {**about, "us": [us, us, 40 * us], **more}


def test_the_slower_rank_counts_and_each_call_as_much() -> None:
    """Forward 1.4 (before) and 1.6 (after) on one rank, 1.2 on the other; there and back 2.0."""
    lines = [line(FORWARD, 1.4), line(FORWARD, 1.6), line(FORWARD, 1.2, rank=1), line(BOTH, 2.0)]
    found = slowness(lines, "h200-2")
    assert found.calls == pytest.approx({"layer_decoder forward": 1.5, "layer_decoder both": 2.0})
    assert found.value == pytest.approx(1.75)
    assert found.ranks == pytest.approx({0: 1.75, 1: 1.2})
    # larger nodes have the profile of the one that was measured
    assert slowness(lines, "h200-8").value == pytest.approx(1.75)


def test_of_processes_on_record_the_quickest_counts() -> None:
    calls = [{"call": "add", "phase": "forward", "us": {"a": [9, 9, 90], "b": [7, 8, 9]}}]
    assert quickest(calls) == {("add", "forward"): 8}


def test_calls_are_read_from_their_own_file_and_from_cases_of_a_plan(tmp_path: Path) -> None:
    """A call under the profiler is none of them: it takes longer."""
    own, plan = tmp_path / "host.rank0.jsonl", tmp_path / "iterations.jsonl"
    under = line(FORWARD, 9.0, mode="profiled")
    own.write_text("\n".join(json.dumps(each) for each in (line(FORWARD, 1.5), under)))
    plan.write_text(json.dumps({"name": "case", "mode": "compute", "host": [line(BOTH, 1.1)]}))
    assert [each["phase"] for each in lines_of([own, plan])] == ["forward", "both"]


def test_what_is_no_time_of_a_known_call_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "host.jsonl"
    file.write_text('{"name": "case"}')
    with pytest.raises(InputError, match="no times of calls"):
        lines_of([file])
    with pytest.raises(InputError, match="none of the calls is among those on record"):
        slowness([{**line(FORWARD, 1.0), "call": "unheard"}], "h200-2")
    with pytest.raises(InputError, match="framework_alone"):
        quick_times("mi300x-8")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}\n" + "[" * 100_000, "nested too deeply"),
        ('{}\n{"rank": ' + "9" * 5000 + "}", "a number of too many digits"),
        ("{}\n{", "expecting property name"),
    ],
)
def test_what_is_no_json_is_refused_by_its_line(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "host.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"host.jsonl:2: not valid JSON: {why}"):
        lines_of([file])
