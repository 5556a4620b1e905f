"""Differences of records: which are paired, whether the sign is right, how far the ratio is off."""

import pytest
from made_workload import workload_of

from c3sim.spec.record import Measured, Record
from c3sim.validation.compare.figures import Figure
from c3sim.validation.compare.measurements import Measurement
from c3sim.validation.compare.pairs import pairs_of, score_pairs


def figure(
    predicted, measured, *, node="mi300x-8", channels=None, size=2**28, repeats=(), tasks=None
):
    gather = {"kind": "collective", "op": "all_gather", "size": size, "backend": "rccl"}
    gather |= {"channels": channels} if channels else {}
    name = f"{channels} {size} {list(tasks or ())}"
    workload = workload_of(tasks or {"gather": gather}, name=name)

    def record(wall):
        return Record(
            id=f"{node} {name}",
            suite="s",
            node=node,
            workload=workload,
            measured=Measured(wall_us=wall),
            source="made up",
            software="none",
            role="validation",
        )

    made = Measurement(record=record(measured), repeats=tuple(map(record, repeats or (measured,))))
    return Figure(measurement=made, metric="wall", task="", predicted=predicted, measured=measured)


def test_channels_are_paired_with_the_next_larger():
    """4, 8 and 16 channels, given out of order: 4 with 8, and 8 with 16."""
    figures = [figure(1, 10, channels=16), figure(1, 30, channels=4), figure(1, 20, channels=8)]
    found = [(pair.first.measured, pair.second.measured) for pair in pairs_of(figures)]
    assert found == [(30, 20), (20, 10)]


def test_records_that_differ_in_two_conditions_are_no_pair():
    figures = [figure(1, 1, channels=4), figure(1, 1, channels=8, size=2**20)]
    assert list(pairs_of(figures)) == []
    found = [pair.condition for pair in pairs_of([*figures, figure(1, 1, channels=8)])]
    assert found == ["channels", "size"]


def test_the_sign_and_how_far_the_ratio_is_off():
    """100 to 80 us measured; 100 to 90 predicted: 0.9 / 0.8 is 12.5 points off, the sign right.
    Then 80 to 100 measured, 90 to 85 predicted: the wrong sign, 85 / 90 / 1.25 is 24.4 points off.
    """
    rows = [(100, 100, 4), (90, 80, 8), (85, 100, 16)]
    figures = [figure(predicted, measured, channels=n) for predicted, measured, n in rows]
    (score,) = score_pairs(figures)
    assert (score.condition, score.pairs, score.beyond, score.right) == ("channels", 2, 2, 1)
    assert [pair.points for pair in pairs_of(figures)] == pytest.approx([12.5, -24.4], abs=0.1)


def test_a_change_within_what_repeats_differ_by_has_no_sign():
    """3 % apart, where repeats of one are 10 % apart."""
    figures = [figure(100, 100, channels=4), figure(90, 103, channels=8, repeats=(98, 108))]
    (score,) = score_pairs(figures)
    assert (score.pairs, score.beyond, score.texts[2]) == (1, 0, "-")


def test_nodes_are_a_condition_too():
    (score,) = score_pairs([figure(10, 10), figure(20, 20, node="mi355x-8")], {"s": "all"})
    assert (score.suite, score.condition, score.right, score.median) == ("all", "GPU", 1, 0.0)


def test_two_launches_in_the_other_order_are_a_pair():
    """The one behind the other waits in its stream, so both are of other streams' tasks too."""

    def both(first, second):
        kernel = {"kind": "kernel", "workgroups": 8, "time": "10 us"}
        tasks = {first: {**kernel, "stream": first}, "late": {**kernel, "stream": second}}
        return {**tasks, second: {**kernel, "stream": second}}

    figures = [figure(10, 10, tasks=both("a", "b")), figure(12, 11, tasks=both("b", "a"))]
    (pair,) = pairs_of(figures)
    assert (pair.condition, pair.first.measured, pair.second.measured) == ("order", 10, 11)
