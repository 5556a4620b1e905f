"""Tiles of queries: what they see, and when the busiest unit ends, by hand."""

from __future__ import annotations

import pytest

from c3sim.iterations.query_tiles import ROUNDS, busiest, evenness, keys_of_tiles


def test_a_tile_sees_all_keys_up_to_its_last_query() -> None:
    """Tiles of 128: of 300 tokens the last one has 44. With a window of 128 the tile of 128 to 255
    sees from 1 on: whole tiles from 0.
    """
    assert keys_of_tiles(384, 0, None, causal=True) == [128, 256, 384]
    assert keys_of_tiles(300, 0, None, causal=True) == [128, 256, 300]
    assert keys_of_tiles(384, 0, 128, causal=True) == [128, 256, 256]
    assert keys_of_tiles(384, 0, None, causal=False) == [384, 384, 384]


def test_the_busiest_unit_ends_last() -> None:
    """Two heads of tiles 1, 2, 3 on two units: 1 and 2; 3 behind the 1, 1 behind the 2; 2 behind
    that 1 (at 3), 3 behind the 3 (at 4): 7 and 5. With a start of 1 a tile: 2, 3, 4, 2, 3, 4 on
    the unit that is free: 2 + 4 + 4 and 3 + 2 + 3.
    """
    assert busiest((1, 2, 3), 2, 2, 0.0) == 7
    assert busiest((1, 2, 3), 2, 2, 1.0) == 10
    # three rounds of the mean of 2 are 6 of those 7
    assert evenness((1, 2, 3), 2, 2, 0.0) == pytest.approx(6 / 7)


def test_many_rounds_end_together() -> None:
    """Heads beyond ROUNDS rounds are dealt evenly: of 400 on 2 units 600 tiles of a mean of 2."""
    assert ROUNDS < 3 * 400 / 2
    assert busiest((1, 2, 3), 400, 2, 0.0) == pytest.approx(1200, rel=3e-3)
