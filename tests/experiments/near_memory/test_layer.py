"""Laws of a sub-layer under T3: traffic, what it cannot beat, what it comes near, who starves.

The layer: 1024 tiles of 32 KiB on 8 GPUs, 160 at a time, of which two share a compute unit.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_controller import MEMORY

from c3sim.experiments.near_memory import layer as windows
from c3sim.experiments.near_memory.layer import Layer, Outcome, run
from c3sim.experiments.near_memory.producer import Gemm

TILE = 32768.0
GEMM = Gemm(
    tiles=1024,
    places=160,
    units=80,
    body=20e-6,
    prologue=1e-6,
    slices=12,
    ahead=2,
    read=20e3,
    stored=TILE,
    apart=0.5,
    buffer=2.0**20,
)
LAYER = Layer(
    gemm=GEMM,
    memory=MEMORY,
    gpus=8,
    link=150e9,
    hop=0.5e-6,
    trigger=0.2e-6,
    entries=256,
    miss="spill",
    counter=512.0,
)
#: Operands that ask for 1.6 TB/s.
HUNGRY = replace(LAYER, gemm=replace(GEMM, read=200e3))


def in_turn(layer: Layer) -> Layer:
    return replace(layer, memory=replace(layer.memory, arbitrated=False))


@pytest.mark.parametrize("gpus", [2, 7, 8])
def test_traffic_is_that_counted_by_hand(gpus: int) -> None:
    """In chunks of n: n - 1 stored here, n - 2 sent on, n - 1 arrive; 7 GPUs divide no tiles."""
    found = run(replace(LAYER, gpus=gpus)).moved
    first, second = -(-1024 // gpus), -(-2048 // gpus)
    assert found.reads == pytest.approx(1024 * 20e3)
    assert found.stores == pytest.approx((1024 - first) * TILE)
    last = 1024 - -(-(gpus - 1) * 1024 // gpus)
    assert found.sends == pytest.approx((1024 - first - last) * TILE)
    assert found.updates == pytest.approx((1024 - last) * TILE)
    assert second > first


def floor(layer: Layer) -> float:
    return max(run(replace(layer, sends=False)).end, run(replace(layer, computes=False)).end)


@pytest.mark.parametrize("layer", [LAYER, HUNGRY, replace(LAYER, link=40e9)])
@pytest.mark.parametrize("entries", [None, 256, 16])
def test_it_never_beats_its_longer_part(layer: Layer, entries: int | None) -> None:
    layer = replace(layer, entries=entries)
    for each in (layer, in_turn(layer), replace(layer, miss="late")):
        assert run(each).end >= floor(each) * (1 - 1e-9)


@pytest.mark.parametrize("link", [150e9, 60e9])
def test_with_all_entries_and_a_memory_that_takes_no_time_it_comes_near_it(link: float) -> None:
    """But for the regions of the last chunk, which are sent behind the GEMM's last stage."""
    memory = replace(MEMORY, bandwidth=1e15, row_switch=0.0, row_cycle=0.0)
    ideal = replace(LAYER, entries=None, memory=memory, link=link)
    assert floor(ideal) <= run(ideal).end < 1.12 * floor(ideal)


def test_without_arbitration_communication_starves_a_gemm_that_needs_memory() -> None:
    alone = run(replace(HUNGRY, sends=False)).gemm
    first, turns = run(HUNGRY).gemm, run(in_turn(HUNGRY)).gemm
    assert first < 1.02 * alone
    assert turns > 1.2 * alone


def test_what_waits_behind_compute_is_told_and_the_limit_lets_it_go() -> None:
    held = run(HUNGRY)
    fed = run(replace(HUNGRY, memory=replace(MEMORY, starvation_limit=10e-9)))
    assert held.held > 0.3 * held.gemm
    assert fed.gemm > held.gemm and fed.held < held.held


def test_fewer_entries_cost_what_a_miss_costs() -> None:
    """64 entries for chunks of 128 tiles: counters in memory are bytes; late regions are time; with
    no entry the reduce-scatter follows the GEMM.
    """
    few = replace(LAYER, entries=64)
    spilled, late, none = run(few), run(replace(few, miss="late")), run(replace(LAYER, entries=0))
    assert spilled.peak == 64 and run(LAYER).peak == 128
    assert spilled.counters == pytest.approx(spilled.misses * 512.0)
    assert run(LAYER).end <= spilled.end < late.end < none.end
    rest = run(replace(LAYER, computes=False)).end * 6 / 7  # the first chunk was stored away
    assert none.end == pytest.approx(none.gemm + rest, rel=0.05)


def test_windows_cohorts_and_the_way_workgroups_begin_matter_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def end(layer: Layer) -> float:
        found: Outcome = run.__wrapped__(layer)
        return found.end

    for layer in (LAYER, HUNGRY):
        usual = end(layer)
        for apart in (0.0, 1.0):
            assert end(replace(layer, gemm=replace(layer.gemm, apart=apart))) == pytest.approx(
                usual, rel=0.02
            )
        monkeypatch.setattr(windows, "WINDOW", windows.WINDOW / 2)
        assert end(layer) == pytest.approx(usual, rel=0.02)
        monkeypatch.undo()
