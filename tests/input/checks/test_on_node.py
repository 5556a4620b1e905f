"""What must hold between a workload and a node."""

import pytest
from loading_case import error_of

from c3sim.input.checks.on_node import check_on_node
from c3sim.input.checks.workload import check_workload
from c3sim.input.loading import load_hardware
from c3sim.input.paths import set_value
from c3sim.specs.workload import Workload

GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20, "chunks": 4}


def workload(tasks, **fields):
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks, **fields})


# The workload on a node
# ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def node():
    return load_hardware("mi300x-8").node


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            {**GATHER, "backend": "nccl"},
            "tasks.t.backend: unknown backend 'nccl'; did you mean 'rccl'? here that is "
            "collectives on compute units: strategy base; in files library rccl on MI300X, nccl "
            "on H200",
        ),
        (
            {**GATHER, "channels": 305},
            "tasks.t.channels: got 305; must be at most the 304 compute units",
        ),
        (
            {**GATHER, "protocol": "ll128"},
            "tasks.t.protocol: unknown protocol 'll128'; allowed: ll, simple",
        ),
        (
            {**GEMM, "library": "hipblas"},
            "tasks.t.library: unknown library 'hipblas'; did you mean 'hipblaslt'?",
        ),
        (
            {**GEMM, "macro_tile": [255, 128]},
            "tasks.t.macro_tile[0]: got 255; must be a multiple of 4, at most 1024",
        ),
        (
            {"kind": "copy", "bytes": 1, "engines": 15},
            "tasks.t.engines: got 15; must be at most 14, a GPU of mi300x-8 has 14 engines",
        ),
        (
            {"kind": "copy", "bytes": 1, "peer": 8},
            "tasks.t.peer: got 8; must be at most 7 on a node of 8 GPUs",
        ),
        (
            {"kind": "commands", "program": [{"op": "copy", "bytes": 1, "peer": 1, "engine": 16}]},
            "tasks.t.program[0].engine: got 16; must be at most 15, there are 16 engines",
        ),
        (
            {"kind": "commands", "program": [{"op": "copy", "bytes": 1, "peer": 1, "queue": 8}]},
            "tasks.t.program[0].queue: got 8; must be at most 7, an engine has 8 queues",
        ),
        (
            {"kind": "commands", "program": [{"op": "broadcast", "bytes": 1, "peers": [1, 2, 3]}]},
            "tasks.t.program[0].peers: 3 destinations; must be at most 2 on mi300x-8",
        ),
        (
            {"kind": "commands", "program": [{"op": "reduce", "bytes": 1, "peer": 1}]},
            "tasks.t.program[0].op: the DMA engines of mi300x-8 cannot reduce; a what-if gives "
            "them a rate: gpu.dma_engines.reduce_bandwidth",
        ),
        (
            {**GATHER, "op": "all_reduce", "backend": "dma"},
            "tasks.t.backend: the DMA engines of mi300x-8 cannot reduce; a what-if gives them a "
            "rate: gpu.dma_engines.reduce_bandwidth",
        ),
    ],
)
def test_a_task_that_the_node_cannot_run(node, task, message):
    assert error_of(check_on_node, workload({"t": task}), node) == message


def test_dma_is_a_backend_of_every_node(node):
    check_on_node(workload({"t": {**GATHER, "backend": "dma"}}), node)


def test_a_collective_needs_two_gpus(node):
    lonely, _ = set_value(node, workload({"t": GEMM}), "gpus", "1")
    assert (
        error_of(check_on_node, workload({"t": GATHER}), lonely)
        == "tasks.t: a collective on 1 GPU; needs a node of at least 2"
    )


def test_every_mistake_is_told_at_once(node):
    both = workload({"a": {**GATHER, "backend": "x"}, "b": {**GEMM, "library": "y"}})
    assert error_of(check_on_node, both, node).count("\n") == 1


def test_what_a_task_works_on_fits_into_a_gpu():
    """192 GiB of HBM. 10^6 x 10^6 in 16 bit is 2 * 10^12 B = 1863 GiB, the operands 2 * 2 * 10^6 *
    8192 B = 31 GiB.
    """
    large = workload(
        {
            "g": {"kind": "gemm", "m": 10**6, "n": 10**6, "k": 8192},
            "s": {**GATHER, "size": 300 * 2**30},
        }
    )
    assert error_of(check_on_node, large, load_hardware("mi300x-8").node) == (
        "tasks.g: needs 1893 GiB; a GPU of mi300x-8 has 192 GiB of memory\n"
        "tasks.s.size: needs 300 GiB; a GPU of mi300x-8 has 192 GiB of memory"
    )


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            {**GATHER, "direction": "pull"},
            "tasks.t.direction: only engines have a direction; needs backend dma",
        ),
        (
            {**GATHER, "engines": 2},
            "tasks.t.engines: only a transfer by engines is split over them; needs backend dma",
        ),
        (
            {"kind": "copy", "bytes": 1, "destination": "host", "direction": "pull"},
            "tasks.t.direction: 'pull' chooses between the engines of two GPUs; needs executor "
            "dma and a peer",
        ),
        (
            {"kind": "copy", "bytes": 1, "executor": "kernel", "engines": 2},
            "tasks.t.engines: a copy on compute units has no engines; needs executor dma",
        ),
    ],
)
def test_direction_and_engines_are_for_engines(task, message):
    assert error_of(check_workload, workload({"t": task})) == message


def test_libraries_left_out_are_the_first_of_the_node():
    for name in ("mi300x-8", "h200-4", "teaching-4"):
        check_on_node(workload({"g": GEMM, "c": GATHER}), load_hardware(name).node)
