"""Provenance is a law, held over every packaged node and GPU: a value lies in its intervals, a fit
names calibration suites and the records it was made from, an estimate says of what order and why.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import cache

import pytest

from c3sim.experiments.bands import parameters_of
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.plausible import contradictions, implausible
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.sourced import NOTHING
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


@cache
def held_out() -> str:
    """A pattern: any suite that has rows of role validation alone."""
    alone = (suite for suite, roles in suites().items() if roles == {"validation"})
    return rf"\b({'|'.join(alone)})\b"


def calibrated(node):
    return [leaf for leaf in load_hardware(node).provenance.values() if leaf.calibrated]


@pytest.mark.parametrize("name", NODES)
def test_a_packaged_node_keeps_the_laws_of_provenance(name):
    loaded = load_hardware(name)
    node, paths = loaded.node, loaded.provenance
    drawn = {each.path: each.fitted for each in parameters_of(loaded)}
    broken = [f"{path}: {law}" for path, leaf in paths.items() for law in _broken(leaf)]
    fitted = {path: leaf.calibrated is not None for path, leaf in paths.items()}
    broken += [path for path in {*drawn} & {*paths} if drawn[path] != fitted[path]]
    for path, leaf in paths.items():
        for other in (*leaf.law, *leaf.unknown):  # of numbers, or of parts that have numbers
            there = any(each == other or each.startswith(f"{other}.") for each in paths)
            broken += [] if there and other != path else [f"{path}: names {other}"]
    assert broken == []
    assert list(contradictions(node)) == [] and list(implausible(node)) == []
    assert Node.model_validate(node.model_dump(mode="json")) == node  # defaults keep constraints


def _broken(leaf):
    """What a number of a packaged node breaks."""
    fit, interval, laws = leaf.calibrated, leaf.interval, {}
    said = leaf.source.removeprefix("estimate").lstrip(" :,")
    laws["a source"] = bool(leaf.source)
    laws["an interval of an estimate"] = bool(interval) or not leaf.estimate
    laws["an order and a reason of an estimate"] = len(said.split()) > 1 or not (
        leaf.estimate or leaf.source.startswith("estimate")
    )
    laws["its interval"] = not interval or interval[0] <= leaf.value <= interval[1]
    laws["suites with records to calibrate by"] = all(
        "calibration" in suites().get(suite, ()) for suite in leaf.suites
    )
    laws["that it is not blind"] = "not blind" in f"{leaf.source} {leaf.note}" or not re.search(
        held_out(), f"{leaf.source} {leaf.note}"
    )
    laws["what it scales with"] = bool(leaf.scales_with or leaf.depends_on) or not leaf.fitted
    laws["no law of nothing"] = NOTHING not in leaf.law
    if fit:
        low, high = fit.interval
        room = 0.005 * abs(high)  # the last written digit
        laws["what its fit left open"] = low <= leaf.value <= high
        laws["a fit that tells more"] = bool(interval) and (
            interval[0] - room <= low < high <= interval[1] + room
        )
    return [law for law, holds in laws.items() if not holds]


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
