"""The Python interface: what a result holds, the baseline, comparisons, and an import that costs
nothing.
"""

import json

import pytest

import c3sim
from c3sim.errors import InputError
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.losses import overlap
from c3sim.evaluation.notes import auto_loss
from c3sim.evaluation.strategies.table import STRATEGIES, best_candidate, exhaustive
from c3sim.simulation.runs import alone, isolated, run_once
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload

NODE = load_node("mi300x-8")
GEMM = {"kind": "gemm", "stream": "compute", "m": 4096, "n": 4096, "k": 4096}
GATHER = {"kind": "collective", "stream": "communication", "op": "all_gather", "size": 64 * 2**20}


def workload(**tasks):
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks})


PAIR = workload(gemm=GEMM, gather=GATHER)


# Results ------------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_result_agrees_with_itself(strategy):
    result = c3sim.run(PAIR, node=NODE, strategy=strategy)
    assert result.wall_s == max(task.end_s for task in result.tasks.values())
    for task in result.tasks.values():
        assert 0 <= task.start_s < task.end_s == task.time_s
        assert task.slowdown == task.time_s / task.isolated_s
        assert task.energy_j > 0
    assert result.energy_j > sum(
        task.energy_j for task in result.tasks.values()
    )  # idle power on top
    assert json.loads(json.dumps(result.to_dict()))["strategy"] == strategy


@pytest.mark.parametrize(
    ("isolated_s", "wall", "serial", "ideal", "speedup", "fraction"),
    [
        ([3.0, 1.0], 3.2, 4.0, 4 / 3, 1.25, 0.75),  # (1.25 - 1) / (4/3 - 1)
        ([3.0, 1.0], 4.0, 4.0, 4 / 3, 1.0, 0.0),  # one after the other
        ([3.0, 1.0], 3.0, 4.0, 4 / 3, 4 / 3, 1.0),  # the shorter one is hidden
        ([2.0, 2.0], 2.5, 4.0, 2.0, 1.6, 0.6),
        ([2.0], 2.0, 2.0, 1.0, 1.0, None),
    ],
)
def test_the_fraction_of_ideal(isolated_s, wall, serial, ideal, speedup, fraction):
    found = overlap(isolated_s, wall)
    assert (found.serial, found.ideal_speedup, found.speedup) == pytest.approx(
        (serial, ideal, speedup)
    )
    assert found.fraction == (None if fraction is None else pytest.approx(fraction))


def test_all_strategies_share_one_baseline():
    """The collective counts as on compute units, whoever carries it out."""
    base = best_candidate("base", PAIR, NODE).workload
    serial = sum(isolated(NODE, base, name).end for name in ("gemm", "gather"))
    for strategy in STRATEGIES:
        result = c3sim.run(PAIR, node=NODE, strategy=strategy)
        assert result.serial_s == pytest.approx(serial, rel=1e-12)
        assert result.speedup == pytest.approx(serial / result.wall_s, rel=1e-12)


def test_the_own_fraction_counts_the_collective_as_it_was_run():
    moved = best_candidate("conccl", PAIR, NODE).workload
    gemm, gather = isolated(NODE, moved, "gemm").end, isolated(NODE, moved, "gather").end
    result = c3sim.run(PAIR, node=NODE, strategy="conccl")
    ideal, speedup = (gemm + gather) / max(gemm, gather), (gemm + gather) / result.wall_s
    assert result.overlap.own_fraction == pytest.approx((speedup - 1) / (ideal - 1), rel=1e-12)
    assert result.tasks["gather"].isolated_s == gather


def test_who_is_faster_than_ideal_says_why():
    for strategy in STRATEGIES:
        result = c3sim.run(PAIR, node=NODE, strategy=strategy)
        if result.fraction_of_ideal > 1 + 1e-6:
            (why,) = [note for note in result.notes if note.startswith("faster than ideal: ")]
            assert why in c3sim.explain(PAIR, node=NODE, strategy=strategy).notes


def test_auto_reports_its_loss():
    chosen = best_candidate("auto", PAIR, NODE)
    best, loss = auto_loss(chosen, NODE, exhaustive(PAIR, NODE))
    assert loss >= 0
    walls = {c.name: run_once(NODE, c.workload).end for c in exhaustive(PAIR, NODE)}
    assert loss == pytest.approx(chosen.run.end / min(walls.values()) - 1) and walls[best] == min(
        walls.values()
    )
    assert any(
        "slower than the best choice" in note
        for note in c3sim.run(PAIR, node=NODE, strategy="auto").notes
    )


# Input --------------------------------------------------------------------------------------------
# -------------


def test_names_paths_and_models_are_the_same(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "schema: 1\nname: w\ntasks:\n  gemm: {kind: gemm, m: 256, n: 256, k: 256}\n",
        encoding="utf-8",
    )
    walls = {c3sim.run(given).wall_s for given in (path, str(path), c3sim.load_workload(path))}
    assert len(walls) == 1
    assert c3sim.run(path, node="mi300x-8").wall_s in walls


def test_compare_leaves_out_what_cannot_apply_only_when_asked_for_all():
    reduce = workload(gemm=GEMM, reduce={**GATHER, "op": "all_reduce"})
    found = c3sim.compare(reduce, node=NODE)
    names = [result.strategy for result in found]
    assert names == ["as_written", "base", "sp", "rp", "sp_rp", "auto"]
    assert [*found.left_out] == ["conccl", "conccl_rp", "conccl_latte"]
    assert "cannot reduce" in found.left_out["conccl"]
    with pytest.raises(InputError, match="cannot reduce"):
        c3sim.compare(reduce, node=NODE, strategies=["base", "conccl"])
    assert [r.strategy for r in c3sim.compare(PAIR, node=NODE, strategies="sp, rp:8")] == [
        "sp",
        "rp:8",
    ]


# Runs ---------------------------------------------------------------------------------------------
# -------------


def test_a_run_is_made_once():
    assert run_once(NODE, PAIR) is run_once(NODE, PAIR.changed(name="another"))
    assert run_once(NODE, PAIR) is not run_once(NODE, PAIR, frozenset({"hbm"}))


def test_alone_keeps_the_mask_and_drops_the_others():
    chosen = best_candidate("rp:32", PAIR, NODE)
    only = alone(chosen.workload, "gather")
    assert list(only.tasks) == list(only.streams) == ["gather"] or list(only.streams) == [
        "communication"
    ]
    assert only.streams["communication"].compute_units == "272-303"


def test_a_trace_changes_nothing_and_holds_the_timeline():
    plain, traced = (
        evaluate_run(PAIR, NODE, "sp"),
        c3sim.run(PAIR, node=NODE, strategy="sp", trace=True),
    )
    assert (plain.wall_s, plain.energy_j) == (traced.wall_s, traced.energy_j)
    assert plain.trace is None and traced.trace is not None
    assert traced.trace.end == traced.wall_s
    assert all(0 <= span.start <= span.end <= traced.wall_s for span in traced.trace.spans)
    assert {span.task for span in traced.trace.spans} == {"gemm", "gather"}
    assert "gpu0.hbm" in {counter.name for counter in traced.trace.counters}


def test_every_name_of_the_package_is_there():
    for name in c3sim.__all__:
        assert getattr(c3sim, name) is not None
        assert name in dir(c3sim)
    with pytest.raises(AttributeError, match="no attribute 'simulate_all'"):
        c3sim.simulate_all  # noqa: B018


def test_notes_on_the_node_are_made_for_who_looks_at_them(monkeypatch):
    """Once, by whichever of two looks; a loop that reads wall times makes none."""
    from c3sim import api

    made, remarks = [], api.remarks

    def counted(*args):
        made.append(args)
        return remarks(*args)

    monkeypatch.setattr(api, "remarks", counted)
    result = c3sim.run(PAIR, node="mi300x-8", set={"links.bandwidth": "500 GB/s"})
    assert result.wall_s > 0.0 and not made
    assert any("what-if" in note for note in result.notes)
    assert result.notes == result.notes and len(made) == 1
