"""The memory controller by hand: rows and banks, turns, compute first, the starvation limit.

32 channels of 1 TB/s: a request of 64 B takes b = 2.048 ns of one; a row of 1 KiB 16 of them,
32.768 ns.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from c3sim.experiments.near_memory.controller import Bytes, Controller, Memory

MEMORY = Memory(
    bandwidth=1e12,
    channels=32,
    queue=64,
    request=64.0,
    row=1024.0,
    banks=16,
    row_switch=28e-9,
    row_cycle=45e-9,
    update_cost=2.0,
    arbitrated=True,
    thresholds=(5, 10, 30),
    adaptive=True,
    starvation_limit=0.0,
)
MUCH = 1e9
MICROSECOND = 1e-6


def test_efficiency_follows_streams_and_what_the_queue_shows() -> None:
    """One stream loses nothing. A second one meets it in one of 16 banks: 45 / 16 ns a row. With 5
    requests ahead the next row is opened 10.24 ns early, 17.76 too late. Eight in turn leave each
    64 / 8 requests of a row: runs of 16.384 ns, 7 / 16 of 45 ns lost.
    """
    assert MEMORY.efficiency(1, 64) == 1.0
    assert MEMORY.efficiency(2, 64) == pytest.approx(32.768 / (32.768 + 45 / 16))
    assert MEMORY.efficiency(1, 5) == pytest.approx(32.768 / (32.768 + 28 - 10.24))
    assert MEMORY.efficiency(8, 64, 8) == pytest.approx(16.384 / (16.384 + 7 / 16 * 45))


def test_in_turn_each_has_half_and_what_the_other_leaves() -> None:
    in_turn = Controller(replace(MEMORY, arbitrated=False), 2.0)
    both = in_turn.serve(Bytes(reads=MUCH, sends=MUCH), MICROSECOND)
    assert both.reads == both.sends == pytest.approx(0.5e6 * MEMORY.efficiency(2, 64, 2))
    little = in_turn.serve(Bytes(reads=MUCH, sends=1000.0), MICROSECOND)
    assert little.sends == pytest.approx(1000.0)
    assert little.reads == pytest.approx(1e6 * MEMORY.efficiency(2, 64, 2) - 1000.0)


def test_compute_first_and_stores_after_reads() -> None:
    """300 kB of reads, 100 kB of stores that cost twice: half of 1 MB at two streams' rate."""
    controller = Controller(MEMORY, 2.0)
    controller.threshold = None
    served = controller.serve(Bytes(reads=3e5, stores=1e5, updates=MUCH), MICROSECOND)
    assert served.reads == pytest.approx(3e5) and served.stores == pytest.approx(1e5)
    left = 1.0 - 0.5 / MEMORY.efficiency(2, 64)
    assert served.updates == pytest.approx(1e6 * left / 2)
    alone = controller.serve(Bytes(reads=MUCH, updates=MUCH), MICROSECOND)
    assert alone.updates == 0.0 and controller.held > 0.9e-6


def test_a_strict_threshold_serves_communication_from_a_short_queue() -> None:
    controller = Controller(MEMORY, 2.0)
    controller.threshold = 5
    served = controller.serve(Bytes(sends=MUCH), MICROSECOND)
    assert served.sends == pytest.approx(1e6 * MEMORY.efficiency(1, 5))


def test_a_request_goes_once_it_has_waited_for_the_limit() -> None:
    """2.048 ns of every 20.48 ns: a tenth, whatever compute asks for."""
    controller = Controller(replace(MEMORY, starvation_limit=20.48e-9), 2.0)
    controller.threshold = None
    served = controller.serve(Bytes(reads=MUCH, sends=MUCH), MICROSECOND)
    assert served.sends == pytest.approx(1e5) and served.reads == pytest.approx(9e5)


def test_the_load_of_the_first_stage_chooses_the_threshold() -> None:
    """Four candidates, a quarter of the load each; the strictest for the highest."""
    assert [MEMORY.chosen(load) for load in (0.1, 0.3, 0.6, 0.9, 1.0)] == [None, 30, 10, 5, 5]
    assert replace(MEMORY, adaptive=False).chosen(0.1) == 5
    assert replace(MEMORY, thresholds=()).chosen(0.9) is None
