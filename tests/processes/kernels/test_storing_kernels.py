"""Kernels that store at peers, what they do to others, and kernels that wait for tiles."""

from __future__ import annotations

import pytest
from made_workload import workload_of

from c3sim.errors import InputError, InputErrors
from c3sim.simulation.folding import can_fold
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node

MI300X = load_node("mi300x-8")
H200 = load_node("h200-2")
GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "library": "triton", "stream": "gemm"}


def workload(node=MI300X, **tasks):
    return workload_of(tasks, node=node.name)


def stores(**more):
    return {"kind": "stores", "bytes": 2**30, **more}


def rate(node=MI300X, **more) -> float:
    """GB/s of stores alone."""
    return 2**30 / simulate(node, workload(node, stores=stores(**more))).end / 1e9


def beside(node, **more) -> float:
    """The time [s] of the GEMM beside stores."""
    gemm = {key: value for key, value in GEMM.items() if node is MI300X or key != "library"}
    run = simulate(node, workload(node, stores=stores(bytes=8 * 2**30, **more), gemm=gemm))
    return run.task("gemm").end - run.task("gemm").start


def test_workgroups_add_up_until_links_are_full():
    """17.2 B/cycle at 2.1 GHz are 36 GB/s; seven links carry 48.5 GB/s each, 46.5 both ways."""
    assert rate(workgroups=1) == pytest.approx(36.1, rel=0.01)
    assert rate(workgroups=4) == pytest.approx(4 * 36.1, rel=0.01)
    assert rate(workgroups=32) == pytest.approx(7 * 46.5, rel=0.01)
    assert rate(workgroups=32, peers="one") == pytest.approx(48.5, rel=0.01)


def test_releases_are_made_one_at_a_time_on_a_die():
    """64 workgroups are 8 on each of 8 dies; a die writes back 33.2 GB/s, whatever its tiles."""
    for tile in (2**14, 2**16, 2**20):
        released = rate(workgroups=64, publish="release", tile=tile)
        assert released == pytest.approx(8 * 33.2, rel=0.02)


def test_a_gemm_is_held_once_more_is_offered_than_links_drain():
    """The published step: from 16 to 32 workgroups x1.22 becomes x3.3, with one store of a lane in
    flight x1.44; the GEMM of 31 workgroups' room is the control.
    """
    alone = simulate(MI300X, workload(gemm=GEMM)).task("gemm")
    control = alone.end - alone.start
    free = beside(MI300X, workgroups=4) / control
    some = beside(MI300X, workgroups=16) / control
    many = beside(MI300X, workgroups=32) / control
    bounded = beside(MI300X, workgroups=32, in_flight=1) / control
    assert free < some < bounded < many
    assert free < 1.05
    assert some < 1.3
    assert many > 2.2
    assert bounded < 0.7 * many


def test_a_few_workgroups_on_one_link_hold_only_their_dies():
    """Four of eight dies have a storing workgroup: at most half of the GEMM is held."""
    control = simulate(MI300X, workload(gemm=GEMM)).task("gemm")
    four = beside(MI300X, workgroups=4, peers="one") / (control.end - control.start)
    sixteen = beside(MI300X, workgroups=16, peers="one") / (control.end - control.start)
    assert 1.1 < four < 2.0 < sixteen


def test_no_queue_blocks_where_the_file_knows_none():
    """As measured on H200: 64 storing workgroups cost a GEMM what 64 held units cost."""
    hold = {"kind": "hold", "workgroups": 64, "time": "2 ms"}
    gemm = {key: value for key, value in GEMM.items() if key != "library"}
    held = simulate(H200, workload(H200, hold=hold, gemm=gemm)).task("gemm")
    assert beside(H200, workgroups=64) == pytest.approx(held.end - held.start, rel=0.06)


def test_folded_equals_unfolded():
    found = workload(stores=stores(workgroups=16, publish="flag", tile=2**20), gemm=GEMM)
    assert can_fold(found, MI300X)
    folded, unfolded = (simulate(MI300X, found, fold=fold) for fold in (True, False))
    for name in found.tasks:
        assert folded.task(name).end == pytest.approx(unfolded.task(name).end, rel=1e-6)


def test_a_consumer_waits_inside_for_the_tiles_of_its_producer():
    """It starts with its producer, and its last tile begins when the producer's last has ended."""
    producer = {**GEMM, "schedule": "work_stealing", "workgroups": 200}
    consumer = {**GEMM, "k": 256, "stream": "c", "schedule": "work_stealing", "workgroups": 64}
    apart = simulate(MI300X, workload(p=producer, c=consumer))
    waiting = simulate(MI300X, workload(p=producer, c={**consumer, "awaits": ["p"]}))
    assert apart.task("c").end < 0.8 * apart.task("p").end
    assert waiting.task("c").start == pytest.approx(apart.task("c").start)
    assert waiting.task("c").end > waiting.task("p").end
    after = simulate(MI300X, workload(p=producer, c={**consumer, "after": ["p"]}))
    assert waiting.end < after.end  # all but its last tiles were hidden


def test_a_flag_is_seen_later_than_the_tile_has_ended():
    consumer = {"kind": "stream", "bytes": 2**20, "workgroups": 8, "awaits": ["p"]}
    ends = [
        simulate(MI300X, workload(p=stores(workgroups=8, publish=how), c=consumer)).end
        for how in ("release", "flag")
    ]
    assert ends[1] - ends[0] == pytest.approx(1e-6, rel=0.01)


def test_a_task_may_wait_for_a_share_of_stores():
    copy = {"kind": "copy", "bytes": 1024, "gpus": "all", "after": ["s.tiles[25%]"]}
    run = simulate(MI300X, workload(s=stores(workgroups=8, tile=2**20), copy=copy))
    assert run.task("copy").ready == pytest.approx(run.task("s").end / 4, rel=0.05)


def test_a_gemm_that_stores_its_tiles_takes_longer_than_either_where_queues_block():
    one = {**GEMM, "m": 8192, "k": 1792, "inputs": "warm"}
    here = simulate(MI300X, workload(gemm=one)).end
    there = simulate(MI300X, workload(gemm={**one, "results": "peers"})).end
    drain = 7 / 8 * 8192 * 4096 * 2 / (7 * 46.5e9)
    # 8 dies before 7 links keep 0.66 of them busy; nothing is computed meanwhile, and the clock is
    # higher than without
    assert here + drain < there < here + drain / 0.66
    node = MI300X.changed(gpu__remote_stores__local_share=None)
    unblocked = simulate(node, workload(gemm={**one, "results": "peers"})).end
    assert max(here, drain) < unblocked < there - 0.3 * drain


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_releases_hold_the_next_round_up_and_nothing_behind_the_last(rounds: int) -> None:
    """304 tiles of 32 KiB a round, 38 on a die: each waits for its release, in which 7 of 8 parts
    are written back at 33.2 GB/s; the 37 others of its die hold the next tile up for half of their
    time. Caches, memory and power never bind here, as what waits asks less of them.
    """
    gpu, ample = MI300X.gpu, {}
    for name in ("l2", "memory_side_cache", "hbm"):
        part = getattr(gpu, name)
        ample[name] = part.changed(bandwidth=1e3 * part.bandwidth)
    ample["clock"] = gpu.clock.changed(power_limit=1e6)
    node = MI300X.changed(gpu=gpu.changed(**ample))
    gemm = {**GEMM, "m": 128 * 19 * rounds, "n": 128 * 16, "k": 16384, "macro_tile": [128, 128]}
    gemm |= {"schedule": "persistent", "inputs": "warm"}
    plain, released = (
        simulate(node, workload(gemm={**gemm, "results": "peers", **more})).end
        for more in ({}, {"publish": "release"})
    )
    written = 7 / 8 * 32 * 1024 / 33.2e9
    expected = rounds * (0.1e-6 + written) + (rounds - 1) * 0.5 * 37 * written
    assert released - plain == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"s": stores(policy="uncached")}, "store policy"),
        ({"s": stores(direction="pull", publish="flag")}, "loads are no stores"),
        ({"s": stores(bytes=2**40)}, "of memory"),
    ],
)
def test_mistakes_on_a_node(tasks, message):
    with pytest.raises(InputErrors, match=message):
        check_on_node(workload(**tasks), MI300X)


def test_a_node_without_numbers_for_stores_says_so():
    teaching = load_node("teaching-4")
    for task in (stores(), {**GEMM, "library": None, "results": "peers"}):
        task = {key: value for key, value in task.items() if value is not None}
        with pytest.raises(InputErrors, match="gives no remote_stores"):
            check_on_node(workload(teaching, s=task), teaching)


@pytest.mark.parametrize("awaits", ["h", "nobody"])
def test_only_tiles_can_be_awaited(awaits):
    hold = {"kind": "hold", "workgroups": 1, "time": "1 us"}
    with pytest.raises((InputError, InputErrors), match="awaits"):
        workload(h=hold, gemm={**GEMM, "awaits": [awaits]})


def test_a_circle_of_waits_is_a_cycle():
    with pytest.raises((InputError, InputErrors), match="cycle"):
        workload(a={**GEMM, "awaits": ["b"]}, b={**GEMM, "stream": "b", "awaits": ["a"]})
