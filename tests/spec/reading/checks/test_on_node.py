"""Checks of a workload on a node."""

import pytest
from loading_case import error_of

from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import set_value
from c3sim.spec.workload import Workload

GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20, "chunks": 4}


def workload(tasks, **fields):
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks, **fields})


# The workload on a node
# ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def node():
    return load_node("mi300x-8")


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
    assert error_of(check_on_node, large, load_node("mi300x-8")) == (
        "tasks.g: needs 1893 GiB; a GPU of mi300x-8 has 192 GiB of memory\n"
        "tasks.s.size: needs 300 GiB; a GPU of mi300x-8 has 192 GiB of memory"
    )


def test_libraries_left_out_are_the_first_of_the_node():
    for name in ("mi300x-8", "h200-4", "teaching-4"):
        check_on_node(workload({"g": GEMM, "c": GATHER}), load_node(name))
