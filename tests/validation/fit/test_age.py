"""Calibrations that are older than their records."""

from __future__ import annotations

from dataclasses import replace

from made_records import GEMM, line

from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.record import Record
from c3sim.spec.sourced import Calibrated
from c3sim.validation.compare.record_files import data_hash
from c3sim.validation.fit.age import stale

PATH = "gpu.compute_units.read_bandwidth"


def measured(day: str, k: int) -> Record:
    """A calibration record of suite ``mine``."""
    one = line({"gemm": {**GEMM, "k": k}}, {"isolated": {"gemm": 100.0}}, role="calibration")
    return Record.model_validate({**one, "date": day})


def fitted(day: str, records: list[Record]) -> LoadedNode:
    """MI300X with one parameter, fitted to *records* of suite ``mine`` on *day*."""
    loaded = load_hardware("mi300x-8")
    fit = Calibrated(
        **{"suite": "mine", "date": day, "records": len(records), "data": data_hash(records)},
        **{"residual": 0.01, "interval": (1.0, 2.0)},
    )
    leaf = replace(loaded.provenance[PATH], calibrated=fit, fitted="mine")
    return replace(loaded, provenance={PATH: leaf})


def test_a_fit_to_these_records_is_not_old():
    records = [measured("2026-11-20", 64), measured("2026-11-21T08:00:00Z", 128)]
    assert stale([fitted("2026-11-22", records)], records) == []


def test_a_later_record_makes_it_old_and_is_named():
    seen = [measured("2026-11-20", 64)]
    (old,) = stale([fitted("2026-11-21", seen)], [*seen, measured("2026-11-23", 128)])
    assert old.older and list(old.leaves) == [PATH]
    assert old.words.endswith(
        "are older than their records: there are 2 now, the newest of 2026-11-23"
    )


def test_other_records_of_the_same_day_are_told_and_fewer_say_nothing():
    seen = [measured("2026-11-20", 64), measured("2026-11-20", 128)]
    other = [measured("2026-11-20", 256), measured("2026-11-20", 512)]
    (old,) = stale([fitted("2026-11-20", seen)], other)
    assert not old.older and "were fitted to other records" in old.words
    assert stale([fitted("2026-11-20", seen)], seen[:1]) == []


def test_a_node_that_is_like_the_fitted_one_does_not_make_its_fit_old():
    """Its own records are a test of what it takes over. Where those of the fit are not here, or
    the node has a value of its own, it is told.
    """
    seen = [measured("2026-11-20", 64)]
    own = [measured("2026-11-20", 256).changed(node="other")]
    one = fitted("2026-11-20", seen)
    like = replace(one, node=one.node.changed(name="other"))
    assert stale([one, like], [*seen, *own]) == []
    (old,) = stale([one, like], own)
    assert old.node == "other"
    leaf = replace(one.provenance[PATH], line=one.provenance[PATH].line + 1)
    (old,) = stale([one, replace(like, provenance={PATH: leaf})], [*seen, *own])
    assert old.node == "other"


def test_records_that_no_fit_may_use_do_not_count():
    later = measured("2026-11-23", 128).changed(role="validation")
    seen = [measured("2026-11-20", 64)]
    assert stale([fitted("2026-11-21", seen)], [*seen, later]) == []
