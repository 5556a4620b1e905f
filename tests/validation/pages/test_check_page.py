"""JUnit, summary and annotations of a comparison, and who is suspected."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from made_records import GATHER, record

from c3sim.spec.reading.loading import load_hardware
from c3sim.validation.compare.bounds import load_bounds
from c3sim.validation.compare.verdict import Verdict, validate
from c3sim.validation.pages import check_page
from c3sim.validation.pages.terminal_page import verdict_table

BOUNDS = """schema: 1
targets:
  alone: {metrics: [isolated_collective], median: 0.1, p90: 0.2, reason: a test}
suites: {SUITE: {}}
"""


@pytest.fixture
def compared(tmp_path):
    def compare(suite: str, judged: bool = True) -> Verdict:
        """An all-gather that took ten times as long as any node needs."""
        file = tmp_path / "bounds.yaml"
        file.write_text(BOUNDS.replace("SUITE", suite), encoding="utf-8")
        bounds = load_bounds(file)
        one = record({"gather": GATHER}, {"isolated": {"gather": 9000.0}}, suite=suite)
        given = bounds if judged else bounds.for_own_records()
        return validate([one], {"mi300x-8": load_hardware("mi300x-8")}, bounds=given, jobs=1)

    return compare


def test_the_stored_coverage_names_the_suspects_of_a_packaged_suite(compared):
    """The file coverage.json says which numbers this suite notices."""
    (drift,) = check_page.check(compared("rccl_all_reduce_size")).drifts
    whys = [one.why for one in drift.suspects]
    assert whys and all("rccl_all_reduce_size" in why or why.startswith("fitted") for why in whys)
    breaking = [why.startswith("scaled by 0.7 or 1.4 it breaks") for why in whys]
    assert breaking == sorted(breaking, reverse=True)  # those that break the bound come first


def test_a_suite_of_ones_own_is_like_the_packaged_one_behind_its_prefix(compared):
    (own,) = check_page.check(compared("my_all_reduce_size")).drifts
    (packaged,) = check_page.check(compared("rccl_all_reduce_size")).drifts
    assert {one.path for one in own.suspects} <= {one.path for one in packaged.suspects}


def test_of_an_unknown_suite_what_its_tasks_use_is_suspected(compared):
    (drift,) = check_page.check(compared("elsewhere")).drifts
    paths = [one.path for one in drift.suspects]
    assert "links.bandwidth" in paths[: check_page.MOST]
    assert not any(path.startswith("gpu.gemm_libraries.") for path in paths)


def test_a_pass_and_a_failure_in_junit(compared):
    missed = ElementTree.fromstring(check_page.junit(check_page.check(compared("mine"))).encode())
    assert missed[0].get("failures") == "1" and missed[0].get("tests") == "1"
    whole = check_page.check(compared("mine", judged=False))
    (case,) = ElementTree.fromstring(check_page.junit(whole).encode()).iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("mine", "isolated_collective")
    assert not list(case.iter("failure"))


def test_an_annotation_is_one_line_with_its_special_letters_escaped(
    compared, tmp_path, monkeypatch
):
    """Files elsewhere are not named: a service can place nothing there."""
    monkeypatch.chdir(tmp_path)
    (line,) = check_page.workflow_commands(check_page.check(compared("mine")))
    assert line.startswith("::error title=mine isolated_collective drifted::median ")
    assert "\n" not in line and " %25" in line


def test_own_records_are_compared_with_bands_and_not_failed(compared):
    """The one figure is 80 % off and more: 0 % of the figures lie within either band."""
    verdict = compared("mine", judged=False)
    assert verdict.passed is None and check_page.check(verdict).drifts == []
    assert "0 in 10, 0 in 20" in check_page.summary(check_page.check(verdict))
    from io import StringIO

    from rich.console import Console

    shown = Console(file=StringIO(), width=200)
    shown.print(verdict_table(verdict, 0))
    assert "0 in 10, 0 in 20" in shown.file.getvalue()
