"""The numbers that a run reads: a number that it does not read changes nothing."""

import pytest

from c3sim.errors import C3simError
from c3sim.spec.reading.loading import load_hardware
from c3sim.validation.compare.coverage import numbers_of, with_value
from c3sim.validation.compare.predict import predict_record
from c3sim.validation.compare.reads import reading
from c3sim.validation.compare.record_files import load

LOADED = load_hardware("mi300x-8")
NUMBERS = {each.path: each for each in numbers_of({"mi300x-8": LOADED})}


def read_by(look):
    copy, found = reading(LOADED.node, frozenset(NUMBERS))
    look(copy)
    return found


def test_a_number_is_noted_where_it_is_read():
    assert read_by(lambda node: node.gpu.hbm) == set()
    assert read_by(lambda node: node.gpu.hbm.latency) == {"gpu.hbm.latency"}
    rates = "gpu.compute_units.flops_per_cycle"
    assert read_by(lambda node: node.gpu.compute_units.flops_per_cycle["fp8"]) == {f"{rates}.fp8"}
    all_rates = {path for path in NUMBERS if path.startswith(f"{rates}.")}
    assert read_by(lambda node: max(node.gpu.compute_units.flops_per_cycle.values())) == all_rates


def test_a_copy_of_the_copy_notes_too():
    def look(node):
        changed = node.changed(gpu__name="other")
        return changed.gpu.hbm.latency

    assert read_by(look) == {"gpu.hbm.latency"}


def test_properties_note_what_they_read():
    assert read_by(lambda node: node.gpu.compute_unit_count) == {"gpu.dies.count"}


@pytest.mark.parametrize("suite", ["c3_channels", "sdma_collective_large", "mi300x_stores"])
def test_what_is_not_read_changes_nothing(suite):
    """The figures are the same while read, and with every number changed that was not."""
    record = next(each for each in load() if each.suite == suite)
    plain = predict_record(LOADED.node, record)
    copy, found = reading(LOADED.node, frozenset(NUMBERS))
    assert predict_record(copy, record) == plain
    assert "gpu.clock.maximum" in found and len(found) < len(NUMBERS) / 2
    changed = LOADED.node
    for path in NUMBERS.keys() - found:
        for value in NUMBERS[path].values:
            try:
                changed = with_value(changed, NUMBERS[path], value)
            except C3simError:
                continue
            break
    assert predict_record(changed, record) == plain
