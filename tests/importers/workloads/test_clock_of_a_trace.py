"""The clock that a trace shows by kernels that ran alone, and the part of the power limit in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kineto_case import MadeTrace

from c3sim.importers.workloads.alone import LoneTimes, followed, keys_of, part_of_limit, times_alone
from c3sim.importers.workloads.trace import read_trace
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.hardware import load_node
from c3sim.spec.workload import Workload

NODE = load_node("h200-2")
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"


def test_what_gets_longer_with_gemms_near_it_follows_the_clock() -> None:
    """GEMMs of 200 us take 20 % longer from the second on; so does one kernel, another half of
    that, a third not at all."""
    made = MadeTrace()
    for turn, slow in enumerate((1.0, 1.2, 1.2, 1.2)):
        begin = 1000.0 * turn
        made.kernel(GEMM, begin, 200 * slow, called=begin)
        made.kernel("follows", begin + 300, 50 * slow, called=begin + 1)
        made.kernel("half", begin + 400, 50 * (1 + slow) / 2, called=begin + 2)
        made.kernel("never", begin + 500, 50, called=begin + 3)
    trace = read_trace(made.text(), "made")
    keys = keys_of(trace.works)
    found = followed(trace.works, keys, times_alone(trace.works, keys))
    assert {key[0]: part for key, part in found.items()} == {
        "follows": pytest.approx(1.0),
        "half": pytest.approx(0.5),
        "never": 0.0,
    }


def test_kernels_beside_others_say_nothing_of_the_clock() -> None:
    made = MadeTrace()
    made.kernel(GEMM, 0, 200, called=0)
    made.kernel("beside", 100, 200, called=1, stream=8)
    made.kernel("alone", 400, 100, called=2)
    trace = read_trace(made.text(), "made")
    lone = LoneTimes.of({work.name: work for work in trace.works})
    assert (lone.tasks, lone.total) == (["alone"], 100.0)


def run_of(time: float) -> Any:
    """A run in which the only task takes *time* [s]."""
    task = SimpleNamespace(start=0.0, end=time)
    return SimpleNamespace(task=lambda name: task)


@pytest.mark.parametrize("share", [0.6, 0.8, 1.2])
def test_the_part_of_the_limit_is_that_at_which_times_alone_agree(share: float) -> None:
    """Times that go with the limit to the power of -0.35."""
    lone = LoneTimes(tasks=["gemm"], total=1e6 * share**-0.35)
    found = part_of_limit(lone, run_of(1.0), lambda part: run_of(part**-0.35))
    assert found == pytest.approx(share, rel=0.02)


def test_no_other_limit_where_it_does_not_matter() -> None:
    lone = LoneTimes(tasks=["gemm"], total=0.9e6)
    assert part_of_limit(lone, run_of(1.0), lambda part: run_of(1.0)) == 1.0
    assert part_of_limit(LoneTimes(tasks=[], total=0.0), run_of(1.0), run_of) == 1.0


def test_a_share_of_the_limit_is_a_lower_limit() -> None:
    """The same run as on a node with that limit, and longer than with all of it."""
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 16384, "library": "cublas"}
    content: dict[str, Any] = {"schema": 1, "name": "one", "tasks": {"gemm": gemm}}
    content["host"] = {"loop": {"iterations": 1000}}

    def end(share: float, limit: float = 700.0) -> float:
        content["host"]["power_share"] = share
        gpu = NODE.gpu.changed(clock__power_limit=limit)
        workload = Workload.model_validate(content)
        return simulate(NODE.changed(gpu=gpu), workload).end

    assert end(0.8) == pytest.approx(end(1.0, 560.0), rel=1e-9)
    assert end(0.8) > 1.05 * end(1.0)
