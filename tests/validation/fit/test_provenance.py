"""Provenance is a law, held over every packaged node and GPU: a value lies in its intervals, a fit
names calibration suites and the records it was made from, an estimate says of what order and why.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import cache

import pytest

from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_hardware
from c3sim.validation.compare.record_files import data_hash, load
from c3sim.validation.fit.calibrate import calibrate, groups, shares

NODES = names("node")
#: Nodes whose files have values of their own; the others are like one of them.
FITTED = ("mi300x-8", "h200-2")


@cache
def suites() -> dict[str, set[str]]:
    """Suite -> the roles of its records."""
    roles = defaultdict(set)
    for record in load():
        roles[record.suite].add(record.role)
    return roles


def leaves(node):
    return load_hardware(node).provenance.items()


def calibrated(node):
    return [(path, leaf) for path, leaf in leaves(node) if leaf.calibrated]


@pytest.mark.parametrize("node", NODES)
def test_a_value_lies_in_what_it_may_be_and_in_what_its_fit_left_open(node):
    for path, leaf in leaves(node):
        for ends in (leaf.interval, leaf.calibrated and leaf.calibrated.interval):
            assert not ends or ends[0] <= leaf.value <= ends[1], path


@pytest.mark.parametrize("node", NODES)
def test_a_fit_tells_more_than_its_allowed_interval(node):
    """The 95 % interval lies in the allowed one, but for the last written digit."""
    for path, leaf in calibrated(node):
        assert leaf.interval, path
        low, high = leaf.calibrated.interval
        room = 0.005 * abs(high)
        assert leaf.interval[0] - room <= low < high <= leaf.interval[1] + room, path


@pytest.mark.parametrize("node", NODES)
def test_free_parameters_name_suites_with_calibration_records(node):
    for path, leaf in leaves(node):
        for suite in leaf.suites:
            assert "calibration" in suites().get(suite, ()), (path, suite)


@pytest.mark.parametrize("node", FITTED)
def test_a_fit_was_made_from_the_calibration_records_that_are_packaged(node):
    """Number and hash are those of the records of role calibration; libraries are fitted to the
    records of every node that has them from the same file.
    """
    others = {name: load_hardware(name) for name in NODES if name != node}
    free = [record for record in load() if record.role == "calibration"]
    seen = 0
    for group in groups(load_hardware(node)):
        kin = {name for name, other in others.items() if shares(group, other)}
        used = [
            record
            for record in free
            if record.suite in group.suites and record.node in {node, *kin}
        ]
        for path, leaf in group.leaves.items():
            if leaf.calibrated:
                seen += 1
                fit = leaf.calibrated
                assert (fit.records, fit.data) == (len(used), data_hash(used)), path
                assert fit.suite == "+".join(group.suites), path
    assert seen == len(calibrated(node)) > 10


@pytest.mark.parametrize("node", NODES)
def test_a_source_that_names_held_out_rows_says_that_they_are_not_blind(node):
    held_out = [suite for suite, roles in suites().items() if roles == {"validation"}]
    for path, leaf in leaves(node):
        words = f"{leaf.source} {leaf.note}"
        if any(re.search(rf"\b{suite}\b", words) for suite in held_out):
            assert "not blind" in words, path


@pytest.mark.parametrize("node", NODES)
def test_an_estimate_says_of_what_order_and_why(node):
    for path, leaf in leaves(node):
        if leaf.estimate or leaf.source.startswith("estimate"):
            said = leaf.source.removeprefix("estimate").lstrip(" :,")
            assert len(said.split()) > 1, (path, leaf.source)


@pytest.mark.long
def test_a_quick_refit_gives_the_value_that_is_committed():
    """``c3sim calibrate mi300x-8 --only gemm_fp8``: one group, some seconds."""
    check_refit("mi300x-8", "gemm_fp8")


def test_what_four_h200_take_over_from_two_is_what_their_own_records_tell():
    """Fitted on two: 8.2 us (6.4 to 10.5); the same streams on four: 8.0 us (6.2 to 10.3)."""
    check_refit("h200-4", "h200_streams")


@pytest.mark.slow
@pytest.mark.skipif("C3SIM_REFIT" not in os.environ, reason="half a minute: C3SIM_REFIT=mi300x")
def test_the_fit_of_mi300x_gives_the_values_that_are_committed():
    """``c3sim calibrate mi300x-8``: every group, 16 to 30 s."""
    check_refit("mi300x-8", "")


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("C3SIM_REFIT") != "all", reason="5 minutes: C3SIM_REFIT=all")
def test_the_fit_of_h200_gives_the_values_that_are_committed():
    """``c3sim calibrate h200-2``: every group."""
    check_refit("h200-2", "")


def check_refit(node, only):
    """The fit of today and the committed one agree: each value lies in the other's 95 % interval,
    and a value that is calibrated has been told by the data.
    """
    found = calibrate(node, load(), only)
    assert found.groups
    for group in found.groups:
        for fitted in group.fit.parameters:
            leaf = group.group.leaves[fitted.path]
            if leaf.calibrated:
                low, high = leaf.calibrated.interval
                room = 0.01 * (high - low)
                assert fitted.identified, fitted
                assert low - room <= fitted.value <= high + room, (fitted, leaf)
                assert fitted.low - room <= leaf.value <= fitted.high + room, (fitted, leaf)
