"""Packets that a kernel posts itself: what they cost the workgroup that does, and when they go."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of

from c3sim.errors import InputError, InputErrors
from c3sim.simulation.run import Run
from c3sim.simulation.runs import isolated
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.schedules import expanded

POST = 2e-6
TILE = 10e-6


def posting(node: Node, time: float | None = POST) -> Node:
    return node.changed(gpu__dma_engines__post_time=time)


NODE = posting(load_node("mi300x-8"))


def kernel(workgroups: int, rounds: int) -> dict[str, Any]:
    """Workgroups that take tiles of 10 us from a pool, *rounds* of them."""
    return {
        "kind": "kernel",
        "time": f"{10 * rounds} us",
        "workgroups": workgroups,
        "tiles": workgroups * rounds,
    }


def sends(posted: str | None, after: str = "k.tiles[50%]", each: int = 1, **more: Any) -> Any:
    """*each* copies of 1 KiB to every peer."""
    program = [
        {"op": "copy", "bytes": "1 KiB", "peer": peer} for peer in range(1, 8) for _ in range(each)
    ]
    return {"kind": "commands", "program": program, "after": [after], "posted": posted, **more}


def run(node: Node = NODE, fold: bool | None = None, **tasks: Any) -> Run:
    workload = workload_of(tasks, node=node.name)
    check_on_node(workload, node)
    return simulate(node, expanded(workload, node), fold=fold)


def test_a_workgroup_pays_for_each_packet_or_for_those_of_one_queue():
    """Two tiles, one workgroup. Behind the first it posts 7 packets: 14 us by one lane; 2 us by a
    lane for each of seven engines, 4 us with two packets for each.
    """
    plain = run(k=kernel(1, 2)).task("k").end
    ends = {
        (how, each): run(k=kernel(1, 2), s=sends(how, each=each)).task("k").end - plain
        for how in ("serial", "lanes")
        for each in (1, 2)
    }
    assert ends == pytest.approx(
        {
            ("serial", 1): 7 * POST,
            ("serial", 2): 14 * POST,
            ("lanes", 1): POST,
            ("lanes", 2): 2 * POST,
        },
        abs=1e-9,
    )


def test_a_packet_goes_as_it_is_posted():
    """The last of seven 12 us after the first: each on an engine of its own, so that is how much
    sooner lanes end.
    """
    serial, lanes = (run(k=kernel(1, 2), s=sends(how)).task("s") for how in ("serial", "lanes"))
    assert serial.end - lanes.end == pytest.approx(6 * POST, abs=1e-8)


def test_the_host_has_no_part_in_it():
    slow = NODE.changed(host__copy_time=1e-3, host__batch_time=1e-3)
    ends = [run(node, k=kernel(1, 2), s=sends("serial")).task("s").end for node in (NODE, slow)]
    assert ends[0] == ends[1]
    assert run(slow, k=kernel(1, 2), s=sends(None)).task("s").end > 1e-3


def test_the_others_go_on_meanwhile():
    """Four workgroups, 16 tiles. One posts for 14 us at 10 us. The other three take three tiles at
    10, 20 and 30 us, it takes one at 24 and one at 34, and the last is taken at 40: 50 us, not 40.
    """
    plain = run(k=kernel(4, 4)).task("k").end
    found = run(k=kernel(4, 4), s=sends("serial", "k.tiles[25%]")).task("k").end
    assert found - plain == pytest.approx(TILE, abs=1e-9)


def test_packets_behind_the_last_tile_are_the_end_of_the_kernel():
    plain = run(k=kernel(304, 2)).task("k").end
    found = run(k=kernel(304, 2), s=sends("serial", "k.tiles[100%]"))
    assert found.task("k").end - plain == pytest.approx(7 * POST, rel=0.01)
    assert found.task("s").start < found.task("k").end  # they go before it has ended


def test_groups_that_end_at_once_are_posted_by_one_workgroup():
    """Two groups of one round: 28 us, not 14."""
    plain = run(k=kernel(8, 1)).task("k").end
    both = {"a": sends("serial", "k.tiles[50%]"), "b": sends("serial", "k.tiles[100%]")}
    assert run(k=kernel(8, 1), **both).task("k").end - plain == pytest.approx(14 * POST, abs=1e-8)


def test_copies_and_collectives_may_be_posted_too():
    gemm = {"kind": "gemm", "m": 2048, "n": 2048, "k": 1024, "order": "staggered"}
    plain = run(g=gemm).task("g").end
    copies = {
        f"c{peer}": {
            "kind": "copy",
            "bytes": "64 KiB",
            "peer": peer,
            "gpus": "all",
            "posted": "serial",
            "after": [f"g.tiles[peer {peer}]"],
        }
        for peer in range(1, 8)
    }
    scatter = {"kind": "collective", "op": "all_to_all", "size": "512 KiB", "backend": "dma"}
    whole = {**scatter, "posted": "lanes", "after": ["g.tiles[100%]"]}
    # one round of tiles: all seven are posted by the workgroup that ends it
    assert run(g=gemm, **copies).task("g").end - plain == pytest.approx(7 * POST, rel=0.02)
    assert run(g=gemm, s=whole).task("g").end - plain == pytest.approx(POST, rel=0.05)


def test_alone_it_takes_what_its_posts_and_engines_take():
    """Without the kernel (isolated times), from the release on: no host either."""
    tasks = {"k": kernel(1, 2), "s": sends("serial")}
    beside, alone = run(**tasks).task("s"), isolated(NODE, workload_of(tasks, node=NODE.name), "s")
    assert alone.end - alone.ready == pytest.approx(beside.end - beside.ready, abs=1e-9)


def test_folded_equals_unfolded():
    tasks = {"k": kernel(304, 4), "s": sends("serial", "k.tiles[25%]")}
    folded, unfolded = (run(fold=fold, **tasks) for fold in (True, False))
    for name in tasks:
        assert folded.task(name).end == pytest.approx(unfolded.task(name).end, rel=1e-6)


@pytest.mark.parametrize(
    ("m", "n", "alone", "how", "total"),
    [
        (512, 2048, 53.4, "serial", 127.2),
        (2048, 2048, 61.7, "serial", 235.4),
        (512, 1024, 41.4, "serial", 108.3),
        (2048, 1024, 53.6, "serial", 162.0),
        (512, 2048, 53.4, "lanes", 105.5),
        (2048, 2048, 61.7, "lanes", 217.2),
    ],
)
def test_pipelines_that_were_measured_on_mi355x(m, n, alone, how, total):
    """GEMM and all-gather of 16 bit by engines, us: four chunks from one lane, or one from a lane
    for each peer. Measured totals, by which nothing was set (github.com/ROCm/mori @48b4d775
    docs/MORI-GEMM-AG-BENCHMARK.md); of the GEMM its time alone. The model: 1 to 14 % off.
    """
    chunks = 4 if how == "serial" else 1
    work = {"flops": 2 * m * n * 7168, "on": "matrix", "dtype": "fp8"}
    gather = {"kind": "collective", "op": "all_gather", "backend": "dma", "posted": how}
    tasks = {"g": {"kind": "kernel", "time": f"{alone} us", "workgroups": 64, **work}} | {
        f"chunk{i}": {
            **gather,
            "size": f"{8 * m * n * 2 // chunks} B",
            "after": [f"g.tiles[{100 * (i + 1) // chunks}%]"],
        }
        for i in range(chunks)
    }
    found = run(load_node("mi355x-8"), **tasks).end
    assert found * 1e6 == pytest.approx(total, rel=0.15)


def test_a_kernel_that_does_nothing_else_posts_what_has_a_stream():
    """In a stream the puts wait for all of *k*. Their kernel is launched like any other, waits for
    two loads, then posts 7 packets one after the other and keeps its unit for so long: it takes as
    long as a kernel of two loads, and 14 us more. The last copy begins when it ends.
    """
    found = run(k=kernel(1, 2), s=sends("serial", "k", stream="s"))
    loads = {"kind": "kernel", "workgroups": 1, "dependent_loads": 2, "read": "128 B"}
    plain = run(k=kernel(1, 2), s=loads | {"after": ["k"], "stream": "s"})
    end = found.task("s-puts").end
    assert end - plain.task("s").end == pytest.approx(7 * POST, abs=1e-9)
    by_tile = run(k=kernel(1, 2), s=sends("serial", "k.tiles[100%]"))
    last = by_tile.task("s").end - by_tile.task("k").end  # its workgroup too ends with its posts
    assert found.task("s").end - end == pytest.approx(last, abs=1e-7)


def test_one_kernel_posts_all_groups_of_tiles_that_its_stream_waits_for():
    """Four workgroups, 16 tiles: rounds end at 10 to 40 us. The kernel begins beside them, holds no
    place of theirs, posts 7 packets behind the second and the last, and ends 14 us behind that.
    """
    both = {
        "half": sends("serial", "k.tiles[50%]", stream="s"),
        "all": sends("serial", "k.tiles[100%]", stream="s"),
    }
    found, plain = run(k=kernel(4, 4), **both), run(k=kernel(4, 4))
    assert not any(name == "all-puts" for name, _ in found.times)
    assert found.task("k").end == pytest.approx(plain.task("k").end, abs=1e-9)
    puts, k = found.task("half-puts"), found.task("k")
    assert puts.start < k.start + TILE
    assert found.task("half").start - k.start == pytest.approx(2 * TILE, abs=2e-6)
    assert found.task("all").start - k.start == pytest.approx(4 * TILE, abs=2e-6)
    assert puts.end - found.task("all").start == pytest.approx(7 * POST, abs=2e-6)


def test_a_kernel_that_posts_shares_a_unit_with_tiles():
    """It is one wave: beside a GEMM whose tiles fill every unit it starts as soon as it may."""
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
    tasks = {"early": kernel(1, 1) | {"stream": "e"}, "g": gemm | {"stream": "g"}}
    found = run(**tasks, s=sends("serial", "early", stream="s"))
    assert found.task("s-puts").start < found.task("early").end + 10e-6
    assert found.task("s").end < found.task("g").end / 2


def test_a_kernel_that_posts_needs_room_and_a_name():
    """All units are held for 20 us, so a kernel that waits for nothing else starts behind that."""
    holds = {"kind": "hold", "workgroups": NODE.gpu.compute_unit_count, "time": "20 us"}
    full = run(h=holds, s=sends("serial", stream="s") | {"after": []})
    assert full.task("s-puts").start > 20e-6
    with pytest.raises((InputError, InputErrors), match="would be called 's-puts'"):
        run(**{"k": kernel(1, 2), "s": sends("serial", "k", stream="s"), "s-puts": kernel(1, 1)})


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (sends("serial", "k"), "behind a group of its tiles"),
        (sends("serial", repeat=2), "posts once"),
        (
            {"kind": "copy", "bytes": "1 KiB", "executor": "kernel", "gpus": "all"}
            | {"posted": "lanes", "after": ["k.tiles[50%]"]},
            "done by kernel",
        ),
        (
            {"kind": "collective", "op": "all_gather", "size": "1 MiB"}
            | {"posted": "lanes", "after": ["k.tiles[50%]"]},
            "done by a library",
        ),
    ],
)
def test_mistakes(task, message):
    with pytest.raises((InputError, InputErrors), match=message):
        run(k=kernel(1, 2), s=task)


def test_a_gpu_without_the_cost_of_a_post_says_so():
    with pytest.raises(InputErrors, match=r"gives no dma_engines\.post_time"):
        run(posting(NODE, None), k=kernel(1, 2), s=sends("serial"))
