"""Times from data sheets, by hand."""

import pytest

from c3sim.input.loading import load_hardware
from c3sim.specs.workload import Workload
from c3sim.validation.compare.roofline import roofline

NODE = load_hardware("mi300x-8").node


def time(task: dict[str, object], **more: object) -> float | None:
    one = {"schema": 1, "name": "w", "tasks": {"a": task}, **more}
    return roofline(NODE, Workload.model_validate(one), "a")


def test_a_large_gemm_takes_its_flop_at_the_peak_rate():
    """304 CUs x 2048 FLOP per cycle at 2.1 GHz: 1307.4 TFLOP/s, as in the data sheet.
    2 x 8192^3 / 1307.4e12 = 841 us; half of the compute units take twice as long.
    """
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "stream": "s"}
    whole = time(gemm)
    assert whole == pytest.approx(841e-6, rel=1e-3)
    assert time(gemm, streams={"s": {"compute_units": 152}}) == pytest.approx(2 * whole)


def test_a_gemm_of_one_row_takes_its_operands_at_the_peak_of_the_memory():
    """1 x 8192 and 8192 x 8192 elements of 2 B in, 1 x 8192 out, at 5.3 TB/s."""
    moved = 2 * (8192 + 8192 * 8192 + 8192)
    assert time({"kind": "gemm", "m": 1, "n": 8192, "k": 8192}) == pytest.approx(moved / 5.3e12)


def test_a_triad_reads_two_arrays_and_writes_one():
    triad = {"kind": "stream", "pattern": "triad", "bytes": 2**30, "passes": 2}
    assert time(triad) == pytest.approx(6 * 2**30 / 5.3e12)
    assert time({**triad, "flops_per_byte": 8.0}) is None


def test_a_collective_fills_all_links_of_a_gpu():
    """All-gather of 8 parts over 7 links of 64 GB/s: one part over each. All-reduce: twice."""
    gather = {"kind": "collective", "op": "all_gather", "size": 2**30}
    assert time(gather) == pytest.approx(2**27 / 64e9)
    assert time({**gather, "op": "all_reduce"}) == pytest.approx(2 * 2**27 / 64e9)


def test_copies_take_the_link_and_within_a_gpu_the_memory_twice():
    copy = {"kind": "copy", "bytes": 2**30}
    assert time(copy) == pytest.approx(2**30 / 64e9)
    assert time({**copy, "destination": "gpu", "repeat": 3}) == pytest.approx(6 * 2**30 / 5.3e12)


def test_what_data_sheets_do_not_tell_has_no_roofline():
    assert time({"kind": "hold", "workgroups": 8, "time": 1e-3}) is None
