"""Values of a sweep's outputs with their units."""

from __future__ import annotations

from c3sim.output.tables.sweep import shown


def test_a_number_per_second_is_no_time() -> None:
    assert shown("wall_s", 0.0271) == "27.1 ms"
    assert shown("tokens_per_s", 302345.0) == "302345"
