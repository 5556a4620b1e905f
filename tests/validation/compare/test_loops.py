"""Power of a load over and over: read from a record, predicted in the steady state, compared with
its unit.
"""

from __future__ import annotations

import pytest
from made_records import line

from c3sim.spec.reading.loading import load_node
from c3sim.spec.record import Record
from c3sim.validation.compare.figures import compare_record
from c3sim.validation.compare.loops import Loop, has_figures, measured_loop, predicted_loop
from c3sim.validation.compare.measurements import merge, observations
from c3sim.validation.compare.record_files import PACKAGED, data_hash, load

NODE = load_node("h200-2")
HOLD = {"kind": "hold", "workgroups": 132, "time": 500e-6}


def loop(
    task: dict, powers: tuple[float, ...], turn: float | None = None, **more: object
) -> Record:
    energy = {"load": "load", "gpus": [{"power_w": power} for power in powers]}
    if turn is not None:
        energy["iteration_us"] = turn
    plain = line({"load": task}, {}, node="h200-2", **more)
    return Record.model_validate({**plain, "observed": {"energy": energy}})


def test_the_mean_of_the_gpus_and_the_energy_of_a_turn():
    """150 W for 500 us are 75 mJ."""
    found = measured_loop(loop(HOLD, (140.0, 160.0), 500.0))
    assert found == Loop(power_w=150.0, turn_us=500.0)
    assert found.figures == {"power": 150.0, "loop_time": 500.0, "energy": pytest.approx(0.075)}
    assert measured_loop(loop(HOLD, (140.0,))).figures == {"power": 140.0}  # nothing ran


def test_other_observations_are_no_loop():
    plain = Record.model_validate({**line({"load": HOLD}, {}), "observed": {"energy": "much"}})
    assert measured_loop(plain) is None and not has_figures(plain)
    assert observations([plain, loop(HOLD, (1.0,))]) == [plain] and len(merge([plain])) == 0


def test_idleness_takes_idle_power_and_held_units_theirs():
    idle = predicted_loop(NODE, loop({"kind": "host", "time": 2e-3}, (1.0,)).workload)
    assert idle.power_w == pytest.approx(NODE.gpu.clock.idle_power)
    held = predicted_loop(NODE, loop(HOLD, (1.0,)).workload)
    energy = NODE.gpu.energy
    busy = 500e-6 / (500e-6 + NODE.gpu.kernels.gap)
    assert held.turn_us == pytest.approx(500 / busy)
    assert held.power_w == pytest.approx(
        NODE.gpu.clock.idle_power + 132 * energy.compute_unit * busy, rel=1e-3
    )


def test_in_a_loop_the_power_limit_acts():
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
    found = predicted_loop(NODE, loop(gemm, (1.0,)).workload)
    assert 0.9 * NODE.gpu.clock.power_limit < found.power_w <= NODE.gpu.clock.power_limit


def test_the_comparison_has_three_figures_with_their_units():
    cases = compare_record(NODE, loop(HOLD, (140.0, 160.0), 500.0))
    assert [(case.metric, case.unit, case.task) for case in cases] == [
        ("power", "W", ""),
        ("loop_time", "us", ""),
        ("energy", "J", ""),
    ]
    assert "W predicted, 150 W measured" in cases[0].comparison


def test_repeats_count_once_by_their_mean():
    pair = [loop(HOLD, (140.0,), 500.0), loop(HOLD, (160.0,), 520.0)]
    (one,) = merge(pair)
    assert measured_loop(one.record) == Loop(power_w=150.0, turn_us=510.0)
    assert one.differences(("power", "")) == (pytest.approx(20 / 150),)
    assert data_hash(pair) != data_hash(pair[:1] * 2)


def test_what_is_fitted_to_has_one_component_that_others_lack_and_collectives_are_held_out():
    records = load([PACKAGED / "h200" / f"power-run{run}.jsonl" for run in (1, 2)])
    roles = {record.observed["energy"]["load"]: record.role for record in records}
    assert len(records) == 40 and len(roles) == 20
    assert {load for load, role in roles.items() if role == "calibration"} == {
        "idle",
        "hold:33",
        "hold",
        "alu",
        "cache",
        "read",
        "memory",
        "gemm:8192",
        "dma_push",
        "dma_to_host",
    }
