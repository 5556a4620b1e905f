"""Variants of the collectives on DMA engines: what a node can do, what each moves, and what
conccl_latte chooses.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of

import c3sim
from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.strategies import dma_variants
from c3sim.evaluation.strategies.dma_variants import (
    Variant,
    moved_bytes,
    recommended_variants,
    variants,
    with_variants,
)
from c3sim.evaluation.strategies.rewrites import baseline, on_dma
from c3sim.evaluation.strategies.table import candidates_of, exhaustive
from c3sim.simulation.run import TaskRun
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Collective, Workload

NODES = {name: load_node(name) for name in ("mi300x-8", "teaching-4", "h200-2", "h200-8")}
GEMM = {"kind": "gemm", "m": 2048, "n": 2048, "k": 2048}
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20}


def workload(
    *gathers: dict[str, Any], compute: dict[str, Any] | None = GEMM, **fields: Any
) -> Workload:
    """*compute* beside the collectives g0, g1 ..."""
    tasks = {f"g{i}": task for i, task in enumerate(gathers or (GATHER,))}
    if compute:
        tasks["compute"] = compute
    return workload_of(tasks, **fields)


def moved(given: Workload, node: Node) -> Workload:
    return on_dma(baseline(given, node), node)


def with_commands(node: Node, *commands: str) -> Node:
    return node.changed(gpu__dma_engines__commands=commands)


def latte(given: Workload, node: Node) -> Workload:
    (candidate,) = candidates_of("conccl_latte", given, node)
    return candidate.workload


# The variants
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "op", "programs"),
    [
        ("mi300x-8", "all_gather", ["pcpy", "bcst", "b2b", "b2b:2", "b2b:4"]),
        ("mi300x-8", "all_to_all", ["pcpy", "swap", "b2b", "b2b:2", "b2b:4"]),
        ("teaching-4", "all_gather", ["pcpy", "bcst", "b2b", "b2b:2"]),  # it has two engines
        (
            "h200-8",
            "all_gather",
            ["pcpy", "b2b"],
        ),  # no broadcast, no swap, and one engine for all peers
        ("h200-2", "all_to_all", ["pcpy", "b2b"]),  # one peer: one engine is one for each
    ],
)
def test_what_a_node_can_do(node: str, op: str, programs: list[str]) -> None:
    """Back to back on fewer engines than peers; each of them prelaunched or not."""
    found = [variant.name for variant in variants(NODES[node], op)]
    assert found == [name + ending for name in programs for ending in ("", "_pl")]


def test_without_a_command_that_polls_nothing_is_prelaunched() -> None:
    node = with_commands(NODES["mi300x-8"], "copy", "swap")
    found = [variant.name for variant in variants(node, "all_to_all")]
    assert found == ["pcpy", "swap", "b2b", "b2b:2", "b2b:4"]
    assert latte(workload(), node).host.prelaunched is False


def test_a_command_that_the_engines_lack_is_an_error() -> None:
    task = {**GATHER, "backend": "dma", "variant": "bcst"}
    with pytest.raises(InputErrors) as caught:
        check_on_node(workload(task), NODES["h200-8"])
    expected = (
        "tasks.g0.variant: 'bcst': the DMA engines of h200-8 have no broadcast; allowed: pcpy, b2b"
    )
    assert str(caught.value) == expected
    late = workload({**task, "variant": "pcpy"}, host={"prelaunched": True})
    check_on_node(late, NODES["h200-8"])
    with pytest.raises(
        InputErrors,
        match=r"host\.prelaunched: the DMA engines of teaching-4 have no command that polls",
    ):
        check_on_node(late, with_commands(NODES["teaching-4"], "copy"))


@pytest.mark.parametrize("op", ["all_gather", "all_to_all"])
@pytest.mark.parametrize("node", ["mi300x-8", "teaching-4", "h200-8"])
def test_what_a_variant_moves_is_what_the_simulation_moves(node: str, op: str) -> None:
    """The integral of what goes through the memory of a GPU, from the trace."""
    task = Collective(kind="collective", op=op, size=2**22, backend="dma")
    alone = workload(task.model_dump(), compute=None, host={"submission": "direct"})
    for variant in variants(NODES[node], op):
        run = simulate(NODES[node], with_variants(alone, {"g0": variant}), trace=True)
        timeline = run.timeline
        for gpu in range(1 if run.folded else NODES[node].gpus):
            memory = next(
                counter for counter in timeline.counters if counter.name == f"gpu{gpu}.hbm"
            )
            spans = zip(memory.values, memory.times, [*memory.times[1:], timeline.end], strict=True)
            total = sum(rate * (end - start) for rate, start, end in spans)
            assert total == pytest.approx(
                sum(moved_bytes(task, variant.program, NODES[node].gpus)), rel=1e-6
            )


def test_a_broadcast_reads_once_for_two_peers() -> None:
    """Eight GPUs, 8 MB: seven chunks of 1 MB are written; copies read seven, broadcasts to 2, 2, 2
    and 1 peers four.
    """
    task = Collective(kind="collective", op="all_gather", size=8e6)
    assert moved_bytes(task, "pcpy", 8) == moved_bytes(task, "b2b", 8) == (7e6, 7e6)
    assert moved_bytes(task, "bcst", 8) == (4e6, 7e6)


# The choice
# ------------------------------------------------------------------------------------------------


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Times alone [us] by task or variant, instead of simulated ones; others take 1000 us."""
    times: dict[str, float] = {}

    def isolated(_node: Node, given: Workload, name: str) -> TaskRun:
        task = given.tasks[name]
        key = name
        if isinstance(task, Collective):
            key = Variant(task.variant or "pcpy", task.engines, given.host.prelaunched).name
        return TaskRun(ready=0.0, start=0.0, end=1e-6 * times.get(key, 1000.0), detail={})

    def each_isolated(node: Node, given: Workload, tasks: list[str]) -> dict[str, TaskRun]:
        return {name: isolated(node, given, name) for name in tasks}

    monkeypatch.setattr(dma_variants, "isolated", isolated)
    monkeypatch.setattr(dma_variants, "each_isolated", each_isolated)
    return times


#: 10 MB read at 250 GB/s x 0.8: 50 us of the teaching node's memory.
STREAM = {"kind": "stream", "pattern": "read", "bytes": 10e6}


@pytest.mark.parametrize(
    ("broadcast", "chosen"),
    [
        (66.0, "bcst"),  # 66 (1 + 50/100) = 99 us, hidden behind 100 us: it reads less
        (67.0, "pcpy"),  # 100.5 us: not hidden for certain; of those that are, the quickest
    ],
)
def test_the_hidden_variant_that_moves_least(
    made_up: dict[str, float], broadcast: float, chosen: str
) -> None:
    made_up |= {"compute": 100.0, "pcpy": 30.0, "b2b": 40.0, "bcst": broadcast}
    node = NODES["teaching-4"]
    choice = recommended_variants(moved(workload(compute=STREAM), node), node)
    assert choice.variants["g0"].name == chosen
    assert choice.alone["g0"]["bcst"] == pytest.approx(1e-6 * broadcast)


def test_of_equal_bytes_the_quickest_alone(made_up: dict[str, float]) -> None:
    """An all-to-all moves the same with every variant; both are hidden."""
    made_up |= {"compute": 100.0, "pcpy": 30.0, "pcpy_pl": 29.0, "b2b": 28.0, "swap_pl": 27.0}
    node = NODES["teaching-4"]
    given = workload({**GATHER, "op": "all_to_all"}, compute=STREAM)
    assert recommended_variants(moved(given, node), node).variants["g0"].name == "swap_pl"


def test_the_quickest_alone_where_none_is_hidden(made_up: dict[str, float]) -> None:
    made_up |= {"compute": 10.0, "pcpy": 30.0, "pcpy_pl": 29.0, "bcst_pl": 29.5}
    node = NODES["teaching-4"]
    assert (
        recommended_variants(moved(workload(compute=STREAM), node), node).variants["g0"].name
        == "pcpy_pl"
    )
    alone = workload(compute=None)
    assert recommended_variants(moved(alone, node), node).variants["g0"].name == "pcpy_pl"


def test_the_first_on_a_tie(made_up: dict[str, float]) -> None:
    node = NODES["h200-2"]
    assert recommended_variants(moved(workload(), node), node).variants["g0"] == Variant("pcpy")


def test_prelaunch_is_one_for_all_collectives(made_up: dict[str, float]) -> None:
    """The host prelaunches all or none, each collective with its best variant under that."""
    made_up |= {"compute": 10.0, "pcpy": 30.0, "bcst_pl": 20.0, "swap": 15.0, "swap_pl": 25.0}
    node = NODES["teaching-4"]
    given = workload(GATHER, {**GATHER, "op": "all_to_all"}, compute=STREAM)
    choice = recommended_variants(moved(given, node), node)  # none: 30 and 15 us; all: 20 and 25 us
    assert {name: variant.name for name, variant in choice.variants.items()} == {
        "g0": "bcst_pl",
        "g1": "swap_pl",
    }
    assert with_variants(moved(given, node), choice.variants).host.prelaunched


# The strategy
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "node", [name for name in names("node") if name != "gb200-72" and load_node(name).gpus > 1]
)
@pytest.mark.parametrize("op", ["all_gather", "all_to_all"])
def test_it_runs_on_every_node(node: str, op: str) -> None:
    found = load_node(node)
    given = workload({**GATHER, "op": op})
    before = given.model_dump_json()
    out = latte(given, found)
    check_on_node(out, found)
    assert given.model_dump_json() == before
    assert latte(out, found) == out
    task = out.tasks["g0"]
    assert task.backend == "dma"
    assert Variant(task.variant or "", task.engines, out.host.prelaunched) in variants(found, op)


def test_it_falls_back_where_engines_only_copy() -> None:
    """Beside a long GEMM the broadcast is chosen for what it need not read; engines that only copy
    cannot.
    """
    long = {**GEMM, "m": 8192, "n": 8192, "k": 8192}
    given, node = workload({**GATHER, "size": 64 * 2**20}, compute=long), NODES["mi300x-8"]
    for found, variant in ((node, "bcst"), (with_commands(node, "copy", "poll"), "pcpy")):
        task = latte(given, found).tasks["g0"]
        assert task.variant == variant


def test_it_says_what_it_chose() -> None:
    given = workload(compute={**GEMM, "m": 64, "n": 8192, "k": 1024})
    (candidate,) = candidates_of("conccl_latte", given, NODES["mi300x-8"])
    name = candidate.detail["variants"]["g0"]
    assert set(candidate.detail["alone_s"]["g0"]) == {
        v.name for v in variants(NODES["mi300x-8"], "all_gather")
    }
    notes = c3sim.run(given, node="mi300x-8", strategy="conccl_latte").notes
    assert f"g0 runs as {name}, chosen from isolated times" in notes


def test_it_needs_a_collective_that_engines_can_do() -> None:
    with pytest.raises(InputError, match="DMA engines copy and cannot reduce, so not 'all_reduce'"):
        candidates_of("conccl_latte", workload({**GATHER, "op": "all_reduce"}), NODES["mi300x-8"])
    alone = workload_of({"compute": GEMM})
    with pytest.raises(
        InputError, match="'conccl_latte' needs a collective; workload 'w' has none"
    ):
        candidates_of("conccl_latte", alone, NODES["mi300x-8"])


def test_strategies_that_choose_are_no_rivals_of_auto() -> None:
    assert not {c.name for c in exhaustive(workload(), NODES["mi300x-8"])} & {
        "auto",
        "conccl_latte",
    }


def test_prelaunch_takes_the_host_out_of_a_small_collective() -> None:
    """One by one a copy per peer costs 7 x copy_time of the host, 38 us; a GEMM of some 14 us then
    waits for nobody, and the wall time is the collective's. Prelaunched it is hidden.
    """
    given = workload(compute={**GEMM, "m": 64, "n": 8192, "k": 1024})
    node = NODES["mi300x-8"]
    copies, hidden = (
        c3sim.run(given, node=node, strategy=name) for name in ("conccl", "conccl_latte")
    )
    assert copies.wall_s > 7 * node.host.copy_time
    assert hidden.wall_s == hidden.tasks["compute"].time_s < 0.4 * copies.wall_s
