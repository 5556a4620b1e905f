"""Records that the loader accepts, and the one line it says about each mistake."""

import json
from pathlib import Path

import pytest
from loading_case import errors_of
from made_records import line

from c3sim.spec.reading.records import load_records
from c3sim.spec.record import record_id

pytestmark = pytest.mark.usefixtures("here")


# Records ------------------------------------------------------------------------------------------
# -------------


GEMM = {"kind": "gemm", "m": 64, "n": 64, "k": 64}
TIME = {"tasks": {"g": {"time_us": 12.5}}}


def record(tasks=None, measured=TIME, **changes):
    return {**line(tasks or {"g": GEMM}, measured), **changes}


def records_errors(*lines):
    return errors_of(load_records, "r.jsonl", "\n".join(lines) + "\n")


def test_records_are_read_in_order():
    Path("r.jsonl").write_text(
        json.dumps(record()) + "\n\n" + json.dumps(record(note="again")) + "\n"
    )
    assert [r.note for r in load_records("r.jsonl")] == ["", "again"]


def test_sizes_in_records_are_bytes_or_have_a_unit():
    sizes = [{"g": {"kind": "copy", "bytes": size}} for size in (1048576, "1 MiB")]
    Path("r.jsonl").write_text("\n".join(json.dumps(record(tasks)) for tasks in sizes))
    first, second = load_records("r.jsonl")
    assert first.workload == second.workload


def test_a_loop_of_one_process_per_gpu_is_read():
    """The form in which ``probe ranks`` writes a pull from memory of another process beside a
    GEMM.
    """
    workload = {
        "schema": 1,
        "name": "gemm:64x64x64 beside pull:1MiB, data zero, loop with barrier",
        "tasks": {
            "copy": {
                **{"kind": "copy", "bytes": 1048576, "source": "peer", "destination": "gpu"},
                **{"executor": "dma", "mapping": "ipc", "gpus": "all"},
            },
            "gemm": {**GEMM, "inputs": "warm", "data": "zero"},
        },
        "host": {
            **{"release": "per_rank", "prelaunched": True, "order": ["copy", "gemm"]},
            "loop": {"iterations": 20, "barrier": True},
        },
    }
    identity = record_id("mi300x-8", workload, "as_written", "none")
    measured = {
        **{"wall_us": 12.5, "isolated": {"copy": 9.0, "gemm": 4.0}},
        "tasks": {"copy": {"time_us": 12.5}, "gemm": {"time_us": 5.0}},
    }
    one = record(workload=workload, id=identity, measured=measured)
    Path("r.jsonl").write_text(json.dumps(one))
    (read,) = load_records("r.jsonl")
    host = read.workload.host
    assert (host.release, host.loop.iterations, host.loop.barrier) == ("per_rank", 20, True)
    assert read.workload.tasks["copy"].mapping == "ipc"


def test_a_truncated_line_is_named():
    assert records_errors(json.dumps(record()), json.dumps(record())[:40]) == [
        "r.jsonl:2: the line is cut off; each line must be one whole JSON record"
    ]


def test_the_workload_of_a_record_is_checked_too():
    assert records_errors(json.dumps(record({"g": {**GEMM, "after": ["h"]}}))) == [
        "r.jsonl:1: workload.tasks.g.after[0]: unknown task 'h'; allowed: g"
    ]


def test_one_id_has_one_role():
    """A measurement that was fitted to may not validate the fit."""
    assert records_errors(json.dumps(record()), json.dumps(record(role="calibration"))) == [
        "r.jsonl:2: role: 'calibration', but r.jsonl:1 has the same id as 'validation'; one id "
        "has one role"
    ]


# Fields of the probe harness
# -----------------------------------------------------------------------------------

READING = {
    "core_clock_mhz": 1980,
    "memory_clock_mhz": 3201,
    "power_w": 412.5,
    "temperature_c": 51,
    "limited_by": "power",
}
HARNESS = {
    "machine": {
        "gpus": [
            {
                "name": "H200",
                "compute_units": 132,
                "memory_bytes": 150e9,
                "l2_bytes": 62914560,
                "pci": "0000:17:00.0",
            }
        ],
        "driver": "580.1",
        "runtime": "13.0",
        "compiler": "nvcc 13.0",
        "libraries": {"nccl": "2.27.7"},
        "before": [READING],
        "after": [{}],
    },
    "command": "probe gemm --shape 64x64x64",
    "revision": "ba6c193-dirty",
    "date": "2026-11-22T09:30:00Z",
    "sets": {
        "wall": {"times_us": [12.5, 13, 90.1], "disturbed": [2], "why": "thermal"},
        "tasks.g": {"times_us": [12.5]},
    },
    "observed": {"latency_us": [1.5], "where": {"0": "SM 3"}, "note": None},
}
HARNESS["machine"]["gpus"][0]["memory_bytes"] = 150_000_000_000


def test_what_the_harness_adds_is_read_and_is_no_part_of_the_id():
    Path("r.jsonl").write_text(json.dumps(record(**HARNESS)))
    (found,) = load_records("r.jsonl")
    assert found.id == record()["id"]
    assert found.machine.gpus[0].compute_units == 132 and found.machine.libraries == {
        "nccl": "2.27.7"
    }
    assert found.machine.before[0].limited_by == "power" and found.machine.after[0].power_w is None
    assert found.sets["wall"].times_us == (12.5, 13.0, 90.1) and found.sets["wall"].disturbed == (
        2,
    )
    assert found.observed["where"] == {"0": "SM 3"}


def test_a_record_may_hold_observations_and_no_time():
    Path("r.jsonl").write_text(json.dumps(record(measured={}, observed={"latency_us": 2.5})))
    assert not load_records("r.jsonl")[0].measured.has_times
