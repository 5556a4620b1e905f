"""Checks between the parts of a workload."""

from loading_case import error_of

from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.workload import Workload, task_order

GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20, "chunks": 4}


def workload(tasks, **fields):
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks, **fields})


def test_the_order_of_a_stream_can_close_a_cycle():
    """b follows a in the stream, so a cannot wait for b; launched the other way round it can."""
    tasks = {"a": {**GEMM, "stream": "s", "after": ["b"]}, "b": {**GEMM, "stream": "s"}}
    assert "dependency cycle: 'a' waits for 'b' waits for 'a'" in error_of(
        check_workload, workload(tasks)
    )
    swapped = workload(tasks, host={"order": ["b", "a"]})
    check_workload(swapped)
    assert task_order(swapped) == ("b", "a")


def test_a_long_chain_is_no_problem():
    chain = {f"t{i}": {**GEMM, "after": [f"t{i - 1}"] if i else []} for i in range(3000)}
    check_workload(workload(chain))
