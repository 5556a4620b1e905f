"""Advice: each knob alone, the good ones together; a band that reaches below zero is no gain."""

from __future__ import annotations

import pytest

import c3sim
from c3sim.api import prepare
from c3sim.evaluation.effort import Effort
from c3sim.experiments.advice import AS_IT_IS, Advice, _Item, _Trial, advise
from c3sim.experiments.bands import parameters_of
from c3sim.experiments.knobs import Knob, knobs_of
from c3sim.iterations.effort import effort_of
from c3sim.output.tables.advice import advice_table
from c3sim.spec.reading.hardware import LoadedNode
from c3sim.spec.reading.loading import load_hardware, load_node

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
    found = advise(workload, few)  # nothing is uncertain
    order = next(each for each in found.each if each.knob == "order")
    assert order.setting == "collectives launched first"
    assert order.wall_s == min(order.tried.values()) < found.wall_s
    assert not order.good and found.draws == 0  # nothing is uncertain, so nothing was drawn
    assert found.together is None
    assert found.left_out["prefetch"] == "for data parallel in shards"
    assert advice_table(found)


def _told(node: str) -> tuple[Advice, list[float]]:
    """Advice on the order of launches on *node*, and its gains at eight draws."""
    trial, order = _trial_of("gemm-beside-all-gather", node, "order", draws=8)
    first = trial.add([order.settings[0]])
    assert first == "collectives launched first"
    trial.run([_Item(AS_IT_IS), _Item(first)], "settings")
    trial.draw([first])
    return trial.advice("order", first, order.cost, {}), trial.drawn(first)


def test_an_order_that_no_draw_turns_round_is_an_advice() -> None:
    """On eight H200 a GEMM launched first fills the GPU, in every draw: what is uncertain makes no
    gather overtake it, so that the gain of the other order is sure.
    """
    assert _told("h200-8")[0].good


def test_a_band_holds_the_gain_of_the_machine_as_it_is() -> None:
    """On eight MI300X numbers stand near an end of their intervals: 28.0 % by another order, 29.0
    to 34.8 at the draws alone.
    """
    told, drawn = _told("mi300x-8")
    assert told.low <= told.gain <= told.high and told.gain < min(drawn)


def test_a_clear_verdict_leaves_the_second_half_of_the_draws_out() -> None:
    """Launched first a gather gains a quarter; by a priority that it does not need, nothing."""
    trial, order = _trial_of("gemm-beside-all-gather", "h200-8", "order", draws=4)
    first, same = (trial.add([each]) for each in order.settings)
    trial.run([_Item(AS_IT_IS), _Item(first), _Item(same)], "settings")
    trial.draw([first, same])
    assert (len(trial.drawn(first)), len(trial.drawn(same))) == (4, 8)


def test_a_number_set_by_hand_keeps_its_value_in_all_draws(few_draws) -> None:
    """Links of half the bandwidth lie outside of their interval: draws would set them back."""
    found = c3sim.advise(
        "gemm-beside-all-gather", node="h200-8", set={"links.bandwidth": "100 GB/s"}
    )
    order = next(each for each in found.each if each.knob == "order")
    again = c3sim.advise("gemm-beside-all-gather", node="h200-8")
    usual = next(each for each in again.each if each.knob == "order")
    assert order.low is not None and order.high is not None and usual.low is not None
    assert order.low <= order.gain <= order.high < usual.low


def test_together_leaves_out_what_adds_nothing(few_draws) -> None:
    """A collective by engines needs neither order nor priority."""
    found = c3sim.advise("gemm-beside-all-gather", node="mi300x-8")
    assert [each.knob for each in found.each if each.good] == ["engines", "order", "priority"]
    assert found.together is None
    assert found.left_out["together"] == "order, priority: adds nothing to the others"


def test_whoever_asks_agrees_before_any_setting_is_run(monkeypatch) -> None:
    """Of a step each knob has some settings, each as much work as a run."""
    step, _ = prepare("llama3-8b-training", None)
    monkeypatch.setattr(_Trial, "run", lambda *_: pytest.fail("it ran"))
    asked: list[float] = []

    def refuse(effort: Effort) -> None:
        asked.append(effort.seconds)
        raise PermissionError

    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    with pytest.raises(PermissionError):
        advise(step, load_hardware("h200-4"), agree=refuse)
    assert asked[0] > 10 * effort_of(step, load_node("h200-4")).seconds


def test_runs_are_told_as_they_end(few_draws) -> None:
    told: list[tuple[str, int, int]] = []
    workload, _ = prepare("gemm-beside-all-gather", "h200-8")
    advise(workload, load_hardware("h200-8"), tell=lambda *each: told.append(each))
    assert {what for what, _, _ in told} == {"settings", "draws", "together"}
    assert all(done == total for what, done, total in told[-1:])


def _trial_of(name: str, node: str, knob: str, draws: int) -> tuple[_Trial, Knob]:
    """A trial with two halves of so many *draws*, and one of its knobs."""
    loaded = load_hardware(node)
    workload, _ = prepare(name, node)
    trial = _Trial(workload, loaded.node, parameters_of(loaded))
    trial.halves = [half[:draws] for half in trial.halves]
    return trial, next(each for each in knobs_of(workload, loaded.node) if each.name == knob)


def test_knobs_follow_what_the_workload_has() -> None:
    """A step in shards has prefetch and pieces; what a library cannot do is named."""
    step, node = prepare("llama3-8b-training", None)
    knobs = {each.name: each for each in knobs_of(step, node)}
    assert {each.text for each in knobs["prefetch"].settings} == {
        f"parallel.prefetch={count}" for count in (0, 2, 3)
    }
    assert len(knobs["engines"].settings) == 3  # all-gathers, reduce-scatters, both
    assert knobs["order"].missing
    assert [each.text for each in knobs["pieces"].settings] == ["parallel.pieces=2"]
    named, node = prepare("llama3-8b-training", None, {"parallel": "{dp_shard: 8, prefetch: 2}"})
    by_name = {each.name: each for each in knobs_of(named, node)}
    assert len(by_name["prefetch"].settings) == 3 and by_name["pieces"].settings
    pair, teaching = prepare(PAIR, None)
    pieces = {each.name: each for each in knobs_of(pair, teaching)}["pieces"]
    assert pieces.missing.endswith("one such pair; here are none")
    assert (
        "has no engines"
        in {each.name: each for each in knobs_of(pair, teaching)}["engines"].missing
    )


def test_python_has_it() -> None:
    found = c3sim.advise(PAIR)
    verdicts = {each["knob"]: each["verdict"] for each in found.to_dict()["each"]}
    assert set(verdicts.values()) <= {"take it", "leave it"} and "order" in verdicts
