"""What must hold between the parts of a workload."""

import pytest
from loading_case import error_of

from c3sim.input.checks.workload import check_workload
from c3sim.specs.workload import Workload, task_order

GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20, "chunks": 4}


def workload(tasks, **fields):
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks, **fields})


@pytest.mark.parametrize(
    ("tasks", "fields", "message"),
    [
        (
            {"g": {**GEMM, "after": ["gahter"]}, "gather": GATHER},
            {},
            "tasks.g.after[0]: unknown task 'gahter'; did you mean 'gather'?",
        ),
        (
            {"g": {**GEMM, "after": ["c.tiles[5%]"]}, "c": GATHER},
            {},
            "tasks.g.after[0]: 'c.tiles[5%]': a collective task has no tiles;"
            " only gemm, kernel and stores tasks have",
        ),
        (
            {"c": {**GATHER, "after": ["g.chunk[0]"]}, "g": GEMM},
            {},
            "tasks.c.after[0]: 'g.chunk[0]': a gemm task has no chunks; only collective tasks have",
        ),
        (
            {"g": {**GEMM, "after": ["c.chunk[4]"]}, "c": GATHER},
            {},
            "tasks.g.after[0]: 'c.chunk[4]': there is no such chunk; 'c' has chunks 0 to 3",
        ),
        (
            {"c": {"kind": "copy", "bytes": 1}, "g": {**GEMM, "after": ["c"]}},
            {},
            "tasks.g.after[0]: 'c' is a task of the first GPU only, and 'g' one of all; needs "
            "gpus: all there, or gpus: first here",
        ),
        (
            {"g": {**GEMM, "reads": ["weight"]}},
            {"buffers": {"weights": {"bytes": 1}}},
            "tasks.g.reads[0]: unknown buffer 'weight'; did you mean 'weights'?",
        ),
        (
            {"g": {**GEMM, "writes": ["y"]}},
            {},
            "tasks.g.writes[0]: unknown buffer 'y'; allowed: none",
        ),
        (
            {"g": GEMM},
            {"host": {"order": ["h"]}},
            "host.order[0]: unknown task 'h'; allowed: g\nhost.order: task 'g' is left out; the "
            "order names every task",
        ),
        (
            {"g": GEMM},
            {"host": {"order": ["g", "g"]}},
            "host.order: task 'g' is named twice; each task is launched once",
        ),
        (
            {"g": {**GEMM, "stream": "s"}},
            {"streams": {"t": {}}},
            "streams.t: stream 't' has no task; tasks use the streams: s",
        ),
        (
            {"a b": GEMM},
            {},
            "tasks.'a b': name 'a b'; must be a letter, then letters, digits, - and _",
        ),
        (
            {"c": {**GATHER, "out_of_place": True}},
            {},
            "tasks.c.out_of_place: a GPU copies its own shard of all_gather or all_to_all by "
            "backend dma only",
        ),
        (
            {"c": {"kind": "copy", "bytes": 1, "source": "host", "destination": "host"}},
            {},
            "tasks.c: copy from host to host; one end must be gpu",
        ),
        (
            {"p": {"kind": "commands", "program": [{"op": "swap", "bytes": 1, "peer": "host"}]}},
            {},
            "tasks.p.program[0].peer: op 'swap' works between GPUs; only copy has host",
        ),
        (
            {"p": {"kind": "commands", "program": [{"op": "timestamp", "on": "t", "bytes": 1}]}},
            {},
            "tasks.p.program[0].bytes: op 'timestamp' has no 'bytes'; it has engine, on, op, queue",
        ),
        (
            {"p": {"kind": "commands", "program": [{"op": "copy", "peer": 1}]}},
            {},
            "tasks.p.program[0]: op 'copy' without 'bytes'; needs bytes and peer",
        ),
        (
            {"p": {"kind": "commands", "program": [{"op": "poll", "on": "done"}]}},
            {},
            "tasks.p.program[0].on: unknown word 'done'; allowed: none",
        ),
        (
            {
                "a": {**GEMM, "after": ["b"]},
                "b": {**GEMM, "after": ["c"]},
                "c": {**GEMM, "after": ["a"]},
            },
            {},
            "tasks.a: dependency cycle: 'a' waits for 'b' waits for 'c' waits for 'a'; tasks and "
            "streams must have an order",
        ),
        (
            {"a": {**GEMM, "after": ["a.tiles[50%]"]}},
            {},
            "tasks.a: dependency cycle: 'a' waits for 'a'; tasks and streams must have an order",
        ),
    ],
)
def test_a_workload_that_cannot_be_meant(tasks, fields, message):
    assert error_of(check_workload, workload(tasks, **fields)) == message


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
