"""The stored coverage: it lists every number, and what is neither seen nor drawn does not grow."""

import pytest

from c3sim.experiments.bands import uncertainty
from c3sim.spec.reading.loading import load_hardware, load_workload
from c3sim.validation.compare import coverage_file
from c3sim.validation.compare.coverage import NOTICED, Sight, numbers_of
from c3sim.validation.compare.coverage_file import (
    complaints,
    drawn_of,
    forget,
    stale,
    stored,
    tally,
    unseen,
    unseen_of,
    write,
)
from c3sim.validation.compare.record_files import load, nodes_for

MI300X = {"mi300x-8": load_hardware("mi300x-8")}
DARK = "gpu.hbm.capacity"  # it has no interval
STATES = {*NOTICED, "nothing", "unread", "not tried"}
KEY = {"data": "0", "errors": {"isolated_gemm": [0.02, 0.05]}}


def test_the_stored_listing_fits_the_files():
    """If not: python tools/coverage.py, or a reason in validation/unseen.yaml."""
    assert complaints(nodes_for(load())) == []


def test_the_listing_has_its_shape():
    for sights in stored().values():
        for path, each in sights.items():
            assert set(each) == {"state", *NOTICED} and each["state"] in STATES, path
            first = next((state for state in NOTICED if each[state]), "")
            assert each["state"] == (first or each["state"]), path
            suites = [suite for state in NOTICED for suite in each[state]]
            assert len(suites) == len(set(suites)), path


@pytest.mark.parametrize("name", ["mi300x-8", "mi355x-8", "h200-2", "h200-4"])
def test_a_quarter_of_the_numbers_at_most_is_neither_seen_nor_drawn(name):
    counts = tally(load_hardware(name))
    assert counts.seen + counts.in_band + counts.neither == counts.numbers
    assert counts.neither <= counts.numbers / 4


def test_the_band_of_a_run_draws_what_has_an_interval():
    """Two samples of a run have two values of each number that counts as drawn."""
    loaded = load_hardware("h200-2")
    band = uncertainty(load_workload("gemm-alone"), loaded, "as_written", samples=2)
    first, second = map(dict, band.settings)
    drawn = drawn_of(loaded)
    assert drawn == set(first) and "gpu.hbm.capacity" not in drawn
    moved = {path for path in drawn if first[path] != second[path]}
    # a whole number from a short interval may be the same twice
    assert all(isinstance(first[path], int) for path in drawn - moved)


def test_unseen_numbers_of_a_shared_file_are_those_of_the_node_that_was_run():
    of_two = unseen_of(load_hardware("h200-2"))
    experts = (".deepep.", ".puts.")  # of eight alone
    of_eight = {p for p in unseen_of(load_hardware("h200-8")) if not any(e in p for e in experts)}
    assert of_two and of_eight == of_two
    assert unseen_of(load_hardware("teaching-4")) == frozenset()


@pytest.fixture
def listing(tmp_path, monkeypatch):
    """A listing of its own, with all numbers of MI300X but DARK, all seen by one suite."""
    monkeypatch.setattr(coverage_file, "FILE", tmp_path / "coverage.json")
    monkeypatch.setattr(coverage_file, "UNSEEN", tmp_path / "unseen.yaml")
    (tmp_path / "unseen.yaml").write_text("schema: 1\nnodes: {}\n", encoding="utf-8")
    forget()
    numbers = [each for each in numbers_of(MI300X) if each.path != DARK]
    write([Sight(number=each, moves=("some_suite",)) for each in numbers], {"some_suite": KEY})
    yield tmp_path
    forget()


def dark(path: str = DARK) -> Sight:
    """Seen by nothing."""
    (number,) = numbers_of(MI300X, path)
    return Sight(number=number)


def test_a_new_number_has_to_be_run(listing):
    (wrong,) = complaints(MI300X)
    assert wrong.startswith(f"mi300x-8: {DARK} has no coverage")


def test_a_number_that_is_neither_seen_nor_drawn_needs_a_reason(listing):
    write([dark()], {})
    (wrong,) = complaints(MI300X)
    assert wrong.startswith(f"mi300x-8: no suite notices {DARK}, and no band draws it")
    text = f"schema: 1\nnodes: {{mi300x-8: [{{paths: [{DARK}], reason: known}}]}}\n"
    (listing / "unseen.yaml").write_text(text, encoding="utf-8")
    assert complaints(MI300X) == []
    assert unseen(MI300X["mi300x-8"]) == {DARK: "known"}


def test_a_number_with_an_interval_needs_none(listing):
    write([dark(), dark("gpu.hbm.latency")], {}, None)
    assert stored()["mi300x-8"]["gpu.hbm.latency"]["state"] == "nothing"
    assert set(unseen(MI300X["mi300x-8"])) == {DARK}


def test_a_reason_that_explains_nothing_goes(listing):
    write([dark()], {})
    text = f"schema: 1\nnodes: {{mi300x-8: [{{paths: [{DARK}, links.latency], reason: known}}]}}\n"
    (listing / "unseen.yaml").write_text(text, encoding="utf-8")
    (wrong,) = complaints(MI300X)
    assert "links.latency in unseen.yaml matches no such number" in wrong


def test_a_suite_that_is_run_again_takes_the_place_of_what_it_saw(listing):
    (number,) = numbers_of(MI300X, "links.latency")
    write([Sight(number=number, bound=("other",))], {"other": KEY}, {"other"})
    each = stored()["mi300x-8"]["links.latency"]
    assert (each["state"], each["bound"], each["moves"]) == ("bound", ["other"], ["some_suite"])
    write([Sight(number=number, rows=("some_suite",))], {"some_suite": KEY}, {"some_suite"})
    each = stored()["mi300x-8"]["links.latency"]
    assert (each["bound"], each["moves"], each["rows"]) == (["other"], [], ["some_suite"])


@pytest.mark.parametrize(
    ("data", "median", "again"),
    # a median may move by MOVED, a quarter of a point
    [("0", 0.02, False), ("0", 0.022, False), ("0", 0.023, True), ("1", 0.02, True)],
)
def test_a_suite_is_stale_where_its_rows_or_predictions_have_changed(listing, data, median, again):
    now = {"data": data, "errors": {"isolated_gemm": [median, 0.05]}}
    assert stale({"some_suite": now}) == (["some_suite"] if again else [])


def test_a_new_suite_is_stale(listing):
    assert stale({"new_suite": KEY}) == ["new_suite"]
