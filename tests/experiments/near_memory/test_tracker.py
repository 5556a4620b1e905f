"""The tracker by hand: entries, tags, counters, and what becomes of a region without an entry."""

from __future__ import annotations

from c3sim.experiments.near_memory.tracker import Tracker


def test_a_region_is_complete_with_its_second_update_and_leaves_its_entry() -> None:
    tracker = Tracker(4, "spill")
    assert tracker.update(1) == "counted"
    assert tracker.update(2) == "counted"
    assert tracker.update(1) == "complete"
    assert tracker.update(5) == "counted"  # index 5 mod 4 = 1, which is free again
    assert (tracker.peak, tracker.misses) == (2, 0)


def test_another_tag_at_its_index_is_a_miss_until_the_region_is_complete() -> None:
    """6 mod 4 = 2, where region 2 is; its counter stays in memory once it is there."""
    tracker = Tracker(4, "spill")
    tracker.update(2)
    assert tracker.update(6) == "missed" and not tracker.complete_in_memory(6)
    assert tracker.update(2) == "complete"
    assert tracker.update(6) == "missed" and tracker.complete_in_memory(6)
    assert tracker.misses == 2


def test_without_entries_all_miss_and_without_limit_none() -> None:
    none, all_ = Tracker(0, "late"), Tracker(None, "late")
    assert [none.update(region) for region in (0, 1)] == ["missed", "missed"]
    assert [all_.update(region) for region in (0, 256)] == ["counted", "counted"]
    assert all_.peak == 2
