"""Stores to peers: times of a tile, and what a neighbour keeps."""

from __future__ import annotations

import pytest

from c3sim.models.stores import busy_links, flag_latency, kept_share, tile_time
from c3sim.spec.reading.loading import load_node
from c3sim.spec.task import Stores

MI300X = load_node("mi300x-8")


def task(**more: object) -> Stores:
    return Stores.model_validate({"kind": "stores", "bytes": 2**20, **more})


@pytest.mark.parametrize(
    ("share", "overload", "kept"),
    [
        (None, 9.0, 1.0),  # nothing is known to block
        (0.2, 0.5, 1.0),  # links drain what is offered
        (0.2, 1.0, 1.0),
        (0.2, 2.0, 0.5),  # 1 / u: in proportion
        (0.2, 50.0, 0.2),  # never less than its own share
    ],
)
def test_what_a_neighbour_keeps(share, overload, kept):
    assert kept_share(share, overload) == pytest.approx(kept)


def test_fewer_stores_in_flight_wait_longer_and_never_waiting_is_quickest():
    tile = 64 * 2**10
    waits = [tile_time(MI300X, task(in_flight=d), tile, 1).wait for d in (1, 4, 8)]
    # tile / store_bytes = 4 stores of all lanes, each waits 0.36 us / d
    assert waits == pytest.approx([4 * 0.36e-6, 0.36e-6, 0.18e-6])
    assert tile_time(MI300X, task(), tile, 1).wait == 0.0


def test_a_release_takes_its_time_and_a_die_makes_one_at_a_time():
    alone = tile_time(MI300X, task(publish="release"), 64 * 2**10, 1)
    shared = tile_time(MI300X, task(publish="release"), 64 * 2**10, 8)
    # the L2 writes 64 KiB back at 33.2 GB/s; 0.1 us more of a release are in no other's way
    assert alone.release == alone.turn == pytest.approx(65536 / 33.2e9)
    assert alone.wait == pytest.approx(0.1e-6 + 65536 / 33.2e9)
    assert shared.turn == pytest.approx(8 * 65536 / 33.2e9)
    assert shared[:3] == alone[:3]
    half = tile_time(MI300X, task(publish="release"), 32 * 2**10, 1)
    assert half.wait == pytest.approx(0.1e-6 + 32768 / 33.2e9)


def test_loads_from_peers_need_no_releases():
    pull = tile_time(MI300X, task(direction="pull"), 2**20, 4)
    units = MI300X.gpu.compute_units
    assert pull.issue == pytest.approx(2**20 / (units.remote_bandwidth * MI300X.gpu.clock.maximum))
    assert (pull.wait, pull.release, pull.turn) == (0.0, 0.0, 0.0)


def test_only_flags_are_seen_later():
    assert flag_latency(MI300X.gpu, "flag", "gpu") == pytest.approx(1e-6)
    assert flag_latency(MI300X.gpu, "release", "gpu") == 0.0
    assert flag_latency(MI300X.gpu, None, "gpu") == 0.0


@pytest.mark.parametrize(
    ("queues", "links", "busy"),
    [
        (1, 1, 1.0),
        (5, 1, 1.0),  # all wait for one link, which never rests
        (1, 4, 1 / 4),  # one queue keeps one link busy at a time
        # two heads: at the same link (chance p) one is served and the other stays, else both are.
        # p = 1/2 whatever came before, so 1.5 of 2 links
        (2, 2, 0.75),
        # table 1 of Karol, Hluchyj and Morgan 1987
        (4, 4, 0.6553),
        (8, 8, 0.6184),
    ],
)
def test_links_that_work_behind_queues_served_in_order(queues, links, busy):
    assert busy_links(queues, links) == pytest.approx(busy, abs=1e-4)


def test_more_queues_keep_more_links_busy():
    shares = [busy_links(queues, 7) for queues in (2, 4, 8, 16)]
    assert shares == sorted(shares)
    assert shares[-1] < 1
