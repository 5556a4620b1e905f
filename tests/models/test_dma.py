"""The rate of one DMA engine."""

from __future__ import annotations

import pytest

from c3sim.models.dma import POLL_STAGGERS, RELEASED_QUEUE_STARTS, engine_rate, released_queue
from c3sim.spec.reading.loading import load_node

TEACHING = load_node("teaching-4")
H200 = load_node("h200-2")


def test_an_engine_is_bound_by_its_data_path_or_its_bytes_in_flight() -> None:
    """64 KiB over 2 x 0.5 us + 2 x 1 us are 21.8 GB/s, more than the data path's 10; under a load
    of 6 memory answers in 3.5 us, a round trip is 9 us, and 64 KiB are 7.28 GB/s.
    """
    assert engine_rate(TEACHING, linked=True)(0.0) == 10e9
    assert engine_rate(TEACHING, linked=True)(6.0) == pytest.approx(65536 / 9e-6)


def test_a_copy_inside_a_gpu_crosses_no_link() -> None:
    assert engine_rate(TEACHING, linked=False)(20.0) == pytest.approx(65536 / 21e-6)
    assert engine_rate(TEACHING, linked=True)(20.0) == pytest.approx(65536 / 23e-6)


def test_pull_has_its_own_bytes_in_flight() -> None:
    node = TEACHING.changed(gpu__dma_engines__remote_read_bytes_in_flight=9e3)
    assert engine_rate(node, linked=True, pull=True)(0.0) == pytest.approx(9e3 / 3e-6)
    assert engine_rate(node, linked=True)(0.0) == 10e9


def test_rules_of_queues_and_polls() -> None:
    """GPUs 4 and 5 of three queues begin with queue 4 // 2 = 2; GPU 3 of 4 polls at 3/4 of the
    interval; GPU 5, of another node of 4, as GPU 1.
    """
    assert [RELEASED_QUEUE_STARTS["half_gpu_number"](gpu, 3) for gpu in (0, 4, 5, 6)] == [
        0,
        2,
        2,
        0,
    ]
    assert RELEASED_QUEUE_STARTS["first"](5, 3) == 0
    assert [POLL_STAGGERS["even"](gpu, 4) for gpu in (0, 3, 5)] == [0, 0.75, 0.25]
    assert POLL_STAGGERS["none"](3, 4) == 0


def test_a_draw_begins_anywhere_on_each_gpu() -> None:
    """600 starts among three queues: each queue a third of them, 0.02 being one standard deviation;
    two GPUs of one draw begin alike in a third of the draws.
    """
    engines = TEACHING.gpu.dma_engines
    assert released_queue(engines, 4, 3) == 2  # by the rule
    each = [engines.changed(released_queue_draw=d) for d in range(1, 301)]
    drawn = [[released_queue(one, gpu, 3) for gpu in (0, 1)] for one in each]
    starts = [start for pair in drawn for start in pair]
    assert all(abs(starts.count(queue) / 600 - 1 / 3) < 0.06 for queue in range(3))
    assert abs(sum(a == b for a, b in drawn) / 300 - 1 / 3) < 0.09


def test_no_limit_of_bytes_in_flight_leaves_the_data_path() -> None:
    engines = TEACHING.gpu.dma_engines.changed(bytes_in_flight=None)
    node = TEACHING.changed(gpu__dma_engines=engines)
    assert engine_rate(node, linked=True)(9.0) == engines.bandwidth
