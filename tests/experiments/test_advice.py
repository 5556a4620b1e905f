"""Advice: each knob alone, the good ones together; a band that reaches below zero is no gain."""

from __future__ import annotations

import pytest

import c3sim
from c3sim.api import prepare
from c3sim.evaluation.effort import Effort
from c3sim.experiments.advice import Advice, _Trial, advise
from c3sim.experiments.jobs import Workers
from c3sim.experiments.knobs import knobs_of
from c3sim.iterations.effort import effort_of
from c3sim.output.tables.advice import advice_table
from c3sim.spec.reading.hardware import LoadedNode
from c3sim.spec.reading.loading import load_hardware

PAIR = {
    "schema": 1,
    "name": "pair",
    "node": "teaching-4",
    "tasks": {
        "gemm": {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096},
        "gather": {"kind": "collective", "op": "all_gather", "size": "64 MiB"},
    },
}


def test_a_band_that_reaches_below_zero_is_no_advice() -> None:
    one = {"knob": "queues", "setting": "q", "wall_s": 0.9, "gain": 0.1}
    assert Advice(**one, low=0.01, high=0.2).good
    assert not Advice(**one, low=-0.01, high=0.2).good
    assert not Advice(**one).good  # not drawn


def test_a_pair_is_told_to_launch_its_collective_first() -> None:
    """A collective behind a GEMM that fills the GPU waits for its tail; before it, both overlap."""
    loaded = load_hardware("teaching-4")
    workload, node = prepare(PAIR, None)
    few = LoadedNode(node=node, provenance=dict([*loaded.provenance.items()][:0]))
    found = advise(workload, few)
    order = next(each for each in found.each if each.knob == "order")
    assert order.setting == "collectives launched first"
    assert order.wall_s == min(order.tried.values()) < found.wall_s
    assert not order.good and found.draws == 0  # nothing is uncertain, so nothing was drawn
    assert found.together is None
    assert found.left_out["prefetch"] == "for data parallel in shards"
    assert advice_table(found)


def test_an_order_that_no_draw_turns_round_is_an_advice() -> None:
    """On eight H200 a GEMM launched first fills the GPU, in every draw: what is uncertain makes no
    gather overtake it, so that the gain of the other order is sure.
    """
    workload, node = prepare("gemm-beside-all-gather", "h200-8")
    trial = _Trial(workload, load_hardware("h200-8"), Workers(jobs=1))
    trial.draws = 8
    [order] = [each for each in knobs_of(workload, node) if each.name == "order"]
    walls, best, _ = trial.tried(order)
    assert best is not None and best.text == "collectives launched first"
    assert trial.advice("order", [best], order.cost, walls).good


def test_whoever_asks_agrees_before_any_setting_is_run(monkeypatch) -> None:
    """Of a step each knob has some settings, each as much work as a run."""
    step, _ = prepare("llama3-8b-training", None)
    monkeypatch.setattr(_Trial, "_wall", lambda *_: pytest.fail("it ran"))
    asked: list[float] = []

    def refuse(effort: Effort) -> None:
        asked.append(effort.seconds)
        raise PermissionError

    with pytest.raises(PermissionError):
        advise(step, load_hardware("h200-4"), agree=refuse)
    assert asked[0] > 10 * effort_of(step, load_hardware("h200-4").node).seconds


def test_knobs_follow_what_the_workload_has() -> None:
    """A step in shards has prefetch and pieces; what a library cannot do is named."""
    step, node = prepare("llama3-8b-training", None)
    knobs = {each.name: each for each in knobs_of(step, node)}
    assert {each.text for each in knobs["prefetch"].settings} == {
        f"parallel.prefetch={count}" for count in (0, 2, 3)
    }
    assert len(knobs["engines"].settings) == 3  # all-gathers, reduce-scatters, both
    assert knobs["order"].missing
    pair, teaching = prepare(PAIR, None)
    assert (
        "has no engines"
        in {each.name: each for each in knobs_of(pair, teaching)}["engines"].missing
    )


def test_python_has_it() -> None:
    found = c3sim.advise(PAIR)
    verdicts = {each["knob"]: each["verdict"] for each in found.to_dict()["each"]}
    assert set(verdicts.values()) <= {"take it", "leave it"} and "order" in verdicts
