"""suites.yaml: every suite that no fit uses says who looked at it."""

from __future__ import annotations

import pytest

from c3sim.errors import InputErrors
from c3sim.spec.reading.records import load_records
from c3sim.validation.compare.bounds import Override, load_bounds
from c3sim.validation.compare.record_files import PACKAGED, load
from c3sim.validation.compare.standings import FILE, SEEN, load_standings, standing_of

STANDINGS = load_standings()


def test_every_packaged_suite_with_rows_of_role_validation_is_listed_and_no_other():
    assert set(STANDINGS) == {record.suite for record in load() if record.role == "validation"}


def test_a_suite_whose_rows_explain_a_known_gap_was_inspected():
    """The reason of a wider bound is read from the rows, so somebody looked at them."""
    for suite, bounds in load_bounds().suites.items():
        overrides = {name for name, bound in bounds.items() if isinstance(bound.limit, Override)}
        if any(not name.endswith("_calibration") for name in overrides):
            assert STANDINGS[suite].standing in SEEN, suite


def test_the_role_comes_first_and_an_unknown_suite_states_nothing():
    assert standing_of("h200_dma", "calibration", STANDINGS) == "open_to_fits"
    assert standing_of("h200_dma", "validation", STANDINGS) == "inspected"
    assert standing_of("mine", "validation", STANDINGS) == "not_stated"


def test_a_word_of_its_own_is_refused_with_file_and_line(tmp_path):
    file = tmp_path / "suites.yaml"
    text = FILE.read_text(encoding="utf-8")
    file.write_text(text.replace("standing: inspected", "standing: seen", 1), encoding="utf-8")
    with pytest.raises(InputErrors, match=r"suites\.yaml:\d+: .*'seen'"):
        load_standings(file)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "    standing: reread",
            "    standing: blind",
            "a suite that is 'blind' needs 'predictions'",
        ),
        ("    reread: ", "    predictions: ", "a suite that is 'reread' has no 'predictions'"),
        ("    runs: others\n", "", "missing field 'runs'"),
    ],
)
def test_what_a_standing_rests_on_is_said(tmp_path, right, wrong, message):
    file = tmp_path / "suites.yaml"
    text = FILE.read_text(encoding="utf-8")
    file.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    with pytest.raises(InputErrors, match=message):
        load_standings(file)


def test_lines_that_do_not_name_a_suite_need_not_be_read():
    file = PACKAGED / "published/mi300x/babelstream.jsonl"
    assert load_records(file, naming="babelstream") == load_records(file)
    assert load_records(file, naming="babel") == []
