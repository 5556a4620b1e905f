"""The stored coverage: it lists every number, and the unseen ones do not grow."""

import pytest

from c3sim.input.loading import load_hardware
from c3sim.validation.compare import coverage_file
from c3sim.validation.compare.coverage import Sight, numbers_of
from c3sim.validation.compare.coverage_file import complaints, stored, unseen, unseen_of, write
from c3sim.validation.compare.nodes import nodes_for
from c3sim.validation.compare.record_files import load

MI300X = {"mi300x-8": load_hardware("mi300x-8")}
STATES = {"bound", "moves", "nothing", "not tried"}


def test_the_stored_listing_fits_the_files():
    """If not: python tools/coverage.py --only PATH, or a reason in validation/unseen.yaml."""
    assert complaints(nodes_for(load())) == []


def test_the_listing_has_its_shape():
    for sights in stored().values():
        for path, each in sights.items():
            assert set(each) == {"state", "bound", "moves"} and each["state"] in STATES, path
            assert bool(each["bound"]) == (each["state"] == "bound"), path
            assert not set(each["bound"]) & set(each["moves"]), path


def test_every_unseen_number_has_a_reason():
    for name in stored():
        assert all(unseen(name).values())


def test_unseen_numbers_of_a_shared_file_are_those_of_the_node_that_was_run():
    of_two = unseen_of(load_hardware("h200-2"))
    assert of_two and unseen_of(load_hardware("h200-8")) == of_two
    assert unseen_of(load_hardware("teaching-4")) == frozenset()


@pytest.fixture
def listing(tmp_path, monkeypatch):
    """A listing of its own, with all numbers of MI300X but gpu.hbm.latency, all seen."""
    monkeypatch.setattr(coverage_file, "FILE", tmp_path / "coverage.json")
    monkeypatch.setattr(coverage_file, "UNSEEN", tmp_path / "unseen.yaml")
    (tmp_path / "unseen.yaml").write_text("schema: 1\nnodes: {}\n", encoding="utf-8")
    stored.cache_clear()
    numbers = {each.path: each for each in numbers_of(MI300X)}
    del numbers["gpu.hbm.latency"]
    seen = (
        Sight(number=each, bound=(), moves=("some_suite",), tried=True) for each in numbers.values()
    )
    write(seen, {})
    yield tmp_path
    stored.cache_clear()


def test_a_new_number_has_to_be_run(listing):
    (wrong,) = complaints(MI300X)
    assert wrong.startswith("mi300x-8: gpu.hbm.latency has no coverage")


def dark() -> Sight:
    """What is left, seen by nothing."""
    (number,) = numbers_of(MI300X, "gpu.hbm.latency")
    return Sight(number=number, bound=(), moves=(), tried=True)


def test_a_new_unseen_number_needs_a_suite_or_a_reason(listing):
    write([dark()], stored())
    stored.cache_clear()
    (wrong,) = complaints(MI300X)
    assert wrong.startswith("mi300x-8: no suite notices gpu.hbm.latency")
    text = 'schema: 1\nnodes: {mi300x-8: [{paths: ["gpu.hbm.*"], reason: known}]}\n'
    (listing / "unseen.yaml").write_text(text, encoding="utf-8")
    assert complaints(MI300X) == []
    assert unseen("mi300x-8") == {"gpu.hbm.latency": "known"}


def test_a_reason_that_explains_nothing_goes(listing):
    write([dark()], stored())
    stored.cache_clear()
    text = (
        "schema: 1\nnodes: {mi300x-8: [{paths: [gpu.hbm.latency, links.latency], reason: known}]}\n"
    )
    (listing / "unseen.yaml").write_text(text, encoding="utf-8")
    (wrong,) = complaints(MI300X)
    assert "links.latency in unseen.yaml matches no unseen number" in wrong
