"""Several nodes from the outside: files, paths, errors, strategies, and one GPU that stands for a
thousand.
"""

from __future__ import annotations

import pytest
from made_workload import workload_of

import c3sim
from c3sim.errors import InputError, InputErrors
from c3sim.simulation.folding import can_fold
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import set_value
from c3sim.spec.workload import Workload

CLUSTER = load_node("mi300x-cluster")
ALONE = load_node("mi300x-8")
GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}
REDUCE = {"kind": "collective", "op": "all_reduce", "size": "64 MiB"}


def workload(**tasks: dict[str, object]) -> Workload:
    return workload_of(tasks)


@pytest.mark.parametrize("backend", ["rccl", "dma"])
def test_one_node_of_a_cluster_is_the_node(backend: str) -> None:
    """To the last bit: a network that nobody uses changes nothing."""
    one, _ = set_value(CLUSTER, workload(gemm=GEMM), "scale_out.nodes", 1)
    pair = workload(gemm=GEMM, gather={**REDUCE, "op": "all_gather", "backend": backend})
    found, wanted = simulate(one, pair), simulate(ALONE, pair)
    assert {key: times.end for key, times in found.times.items()} == {
        key: times.end for key, times in wanted.times.items()
    }


def test_engines_that_nobody_uses_do_not_tell_gpus_apart() -> None:
    """With 13 engines the map of peers shares them another way on each GPU; kernels do not mind."""
    uneven, _ = set_value(ALONE, workload(gemm=GEMM), "gpu.dma_engines.count", 13)
    gather = {**REDUCE, "op": "all_gather"}
    assert can_fold(workload(gemm=GEMM, gather=gather), uneven)
    assert not can_fold(workload(gather={**gather, "backend": "dma"}), uneven)


@pytest.mark.parametrize("op", ["all_reduce", "all_to_all"])
def test_a_thousand_gpus_are_one(op: str) -> None:
    """128 nodes of 8: one GPU is simulated, in fewer events than the rule of thumb has for one
    node.
    """
    large, _ = set_value(CLUSTER, workload(gemm=GEMM), "scale_out.nodes", 128)
    outcome = simulate(large, workload(collective={**REDUCE, "op": op}, gemm=GEMM))
    assert large.ranks == 1024 and outcome.folded and {gpu for _, gpu in outcome.times} == {0}
    assert outcome.events < 500


@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "all_to_all"])
def test_folded_equals_unfolded(nodes: int, op: str) -> None:
    """A pair on 2 and 4 nodes of 4 GPUs that share two NICs, two nodes to a leaf: every GPU has the
    times of the one.
    """
    settings = {
        "gpus": 4,
        "scale_out.nodes": nodes,
        "scale_out.nics": 2,
        "scale_out.nodes_per_leaf": 2,
        "scale_out.oversubscription": 3.0,
    }
    node, pair = CLUSTER, workload(collective={**REDUCE, "op": op}, gemm=GEMM)
    for path, value in settings.items():
        node, _ = set_value(node, pair, path, value)
    one, all_ = simulate(node, pair, fold=True), simulate(node, pair, fold=False)
    for (name, gpu), times in all_.times.items():
        assert times.end == pytest.approx(one.times[name, 0].end, rel=1e-9), (name, gpu)


def test_a_copy_of_the_first_gpu_slows_the_collective_of_all() -> None:
    """Not folded; the all-reduce waits for the NIC that is shared."""
    node, _ = set_value(CLUSTER, workload(gemm=GEMM), "scale_out.nodes", 2)
    copy = {"kind": "copy", "bytes": "256 MiB", "executor": "nic", "peer": 8}
    alone, beside = (
        simulate(node, workload(reduce=REDUCE)),
        simulate(node, workload(copy=copy, reduce=REDUCE)),
    )
    assert alone.folded and not beside.folded
    assert beside.task("reduce").end > 1.05 * alone.task("reduce").end


def test_strategies_explanations_and_energy_of_a_cluster() -> None:
    pair = workload(gather={**REDUCE, "op": "all_gather"}, gemm=GEMM)
    results = {result.strategy: result for result in c3sim.compare(pair, node=CLUSTER)}
    assert {"base", "sp", "rp", "conccl", "auto"} <= set(results)
    assert results["base"].ranks.count == 128 and "16 nodes of 8 GPUs" in results["base"].notes
    one = c3sim.run(pair, node=ALONE, strategy="base")
    assert results["base"].tasks["gemm"].energy_j == pytest.approx(
        16 * one.tasks["gemm"].energy_j, rel=0.05
    )
    explained = c3sim.explain(pair, node=CLUSTER).tasks["gather"]
    assert explained.slowdown == pytest.approx(
        1 + sum(explained.causes.values()) + explained.left_over
    )


def test_a_node_that_stands_alone_has_no_network_to_set() -> None:
    with pytest.raises(InputError, match="scale_out has: nothing: mi300x-8 has none"):
        set_value(ALONE, workload(gemm=GEMM), "scale_out.nodes", 4)


@pytest.mark.parametrize(
    ("node", "task", "message"),
    [
        (
            ALONE,
            {**REDUCE, "algorithm": "hierarchical"},
            "tasks.t.algorithm: only between nodes;"
            " mi300x-8 is one node, its file has no scale_out",
        ),
        (
            ALONE,
            {**REDUCE, "pipeline": 4},
            "tasks.t.pipeline: only between nodes; mi300x-8 is one node, its file has no scale_out",
        ),
        (
            CLUSTER,
            {**REDUCE, "algorithm": "ring", "pipeline": 4},
            "tasks.t.pipeline: 'ring' has no phases; needs algorithm hierarchical",
        ),
        (
            CLUSTER,
            {**REDUCE, "algorithm": "tree"},
            "tasks.t.algorithm: unknown algorithm of all_reduce on 16 nodes 'tree';"
            " allowed: hierarchical, ring, direct",
        ),
        (
            CLUSTER,
            {**REDUCE, "op": "all_to_all", "backend": "dma", "variant": "swap"},
            "tasks.t.variant: 'swap' is for the GPUs of one node; on 16 nodes only 'pcpy'",
        ),
        (
            CLUSTER,
            {**REDUCE, "op": "all_gather", "backend": "dma", "algorithm": "direct"},
            "tasks.t.algorithm: unknown algorithm of all_gather on engines 'direct';"
            " allowed: hierarchical",
        ),
        (
            ALONE,
            {"kind": "copy", "bytes": "1 MiB", "executor": "nic", "peer": 8},
            "tasks.t.executor: 'nic' copies between nodes; mi300x-8 is one node",
        ),
        (
            CLUSTER,
            {"kind": "copy", "bytes": "1 MiB", "executor": "nic", "peer": 3},
            "tasks.t.peer: got 3; must be 8 (the same GPU of the next node) to 127",
        ),
        (
            CLUSTER,
            {
                "kind": "copy",
                "bytes": "1 MiB",
                "executor": "nic",
                "peer": 8,
                "source": "peer",
                "destination": "gpu",
            },
            "tasks.t: a NIC writes: source gpu and destination peer, not peer and gpu",
        ),
        (
            CLUSTER,
            {"kind": "copy", "bytes": "1 MiB", "peer": 8},
            "tasks.t.peer: got 8; must be at most 7 on a node of 8 GPUs",
        ),
    ],
)
def test_a_mistake_is_one_line(node: object, task: dict[str, object], message: str) -> None:
    with pytest.raises(InputErrors) as caught:
        check_on_node(workload(t=task), node)
    assert str(caught.value) == message


def test_nics_are_dealt_evenly() -> None:
    with pytest.raises(
        InputError, match="3 NICs for 8 GPUs; must be a divisor or a multiple of their number"
    ):
        set_value(CLUSTER, workload(gemm=GEMM), "scale_out.nics", 3)
