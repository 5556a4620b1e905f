"""What holds between the parts of a workload, and between a workload and a node."""

import pytest

from c3sim.errors import InputError, InputErrors
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.checks.workload import check_workload
from c3sim.input.loading import load_hardware
from c3sim.input.paths import set_value
from c3sim.specs.references import After, parse_after, parse_cu_mask, task_order
from c3sim.specs.workload import Workload

GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20, "chunks": 4}


def workload(tasks, **fields):
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks, **fields})


def wrong(check, *arguments):
    with pytest.raises((InputError, InputErrors)) as caught:
        check(*arguments)
    return str(caught.value)


# The workload alone
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("gemm", After(task="gemm")),
        ("gemm.tiles[25%]", After(task="gemm", tiles=0.25)),
        ("gather.chunk[2]", After(task="gather", chunk=2)),
    ],
)
def test_after_names_a_task_a_share_of_tiles_or_a_chunk(text, after):
    assert parse_after(text) == after


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "gemm.tile[3]",
            "'gemm.tile[3]' is not a dependency; write task, task.tiles[25%] or task.chunk[0]",
        ),
        (
            "gemm.tiles[0%]",
            "'gemm.tiles[0%]': 0% of the tiles; must be more than 0% and at most 100%",
        ),
        (
            "gemm.tiles[101%]",
            "'gemm.tiles[101%]': 101% of the tiles; must be more than 0% and at most 100%",
        ),
        ("", "'' is not a dependency; write task, task.tiles[25%] or task.chunk[0]"),
    ],
)
def test_other_text_is_no_dependency(text, message):
    assert wrong(parse_after, text) == message


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
            "tasks.g.after[0]: 'c.tiles[5%]': a collective task has no tiles; only gemm tasks have",
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
            "tasks.g.after[0]: 'c' is a task of the first GPU only, and 'g' one of all; needs gpus: all there, or gpus: first here",
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
            "host.order[0]: unknown task 'h'; allowed: g\nhost.order: task 'g' is left out; the order names every task",
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
            "tasks.a: dependency cycle: 'a' waits for 'b' waits for 'c' waits for 'a'; tasks and streams must have an order",
        ),
        (
            {"a": {**GEMM, "after": ["a.tiles[50%]"]}},
            {},
            "tasks.a: dependency cycle: 'a' waits for 'a'; tasks and streams must have an order",
        ),
    ],
)
def test_a_workload_that_cannot_be_meant(tasks, fields, message):
    assert wrong(check_workload, workload(tasks, **fields)) == message


def test_the_order_of_a_stream_can_close_a_cycle():
    """b follows a in the stream, so a cannot wait for b; launched the other way round it can."""
    tasks = {"a": {**GEMM, "stream": "s", "after": ["b"]}, "b": {**GEMM, "stream": "s"}}
    assert "dependency cycle: 'a' waits for 'b' waits for 'a'" in wrong(
        check_workload, workload(tasks)
    )
    swapped = workload(tasks, host={"order": ["b", "a"]})
    check_workload(swapped)
    assert task_order(swapped) == ("b", "a")


def test_a_long_chain_is_no_problem():
    chain = {f"t{i}": {**GEMM, "after": [f"t{i - 1}"] if i else []} for i in range(3000)}
    check_workload(workload(chain))


# CU masks -----------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize(
    ("mask", "bits"),
    [
        (None, range(304)),
        (8, range(8)),
        ("0-271,280", [*range(272), 280]),
        ("7, 3-5,4", [3, 4, 5, 7]),  # in any order, overlaps count once
    ],
)
def test_a_mask_is_a_count_or_ranges_of_bits(mask, bits):
    assert parse_cu_mask(mask, 304) == tuple(bits)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("", "mask '' has no compute unit; bits are 0 to 303, as in '0-303'"),
        (0, "mask of 0 compute units; must be 1 to 304"),
        (305, "mask of 305 compute units; must be 1 to 304"),
        (
            "0-304",
            "'0-304' in mask '0-304' is beyond the last compute unit; bits are 0 to 303, as in '0-303'",
        ),
        ("5-3", "'5-3' in mask '5-3' runs backwards; bits are 0 to 303, as in '0-303'"),
        ("0xff", "'0xff' in mask '0xff' is no bit or range; bits are 0 to 303, as in '0-303'"),
        ("1,,2", "'' in mask '1,,2' is no bit or range; bits are 0 to 303, as in '0-303'"),
    ],
)
def test_a_mask_without_sense_is_refused(mask, message):
    assert wrong(parse_cu_mask, mask, 304) == message


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
            "tasks.t.backend: unknown backend 'nccl'; did you mean 'rccl'?",
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
            "tasks.t.program[0].op: the DMA engines of mi300x-8 cannot reduce; a what-if gives them a rate: gpu.dma_engines.reduce_bandwidth",
        ),
        (
            {**GATHER, "op": "all_reduce", "backend": "dma"},
            "tasks.t.backend: the DMA engines of mi300x-8 cannot reduce; a what-if gives them a rate: gpu.dma_engines.reduce_bandwidth",
        ),
    ],
)
def test_a_task_that_the_node_cannot_run(node, task, message):
    assert wrong(check_on_node, workload({"t": task}), node) == message


def test_dma_is_a_backend_of_every_node(node):
    check_on_node(workload({"t": {**GATHER, "backend": "dma"}}), node)


def test_a_collective_needs_two_gpus(node):
    lonely, _ = set_value(node, workload({"t": GEMM}), "gpus", "1")
    assert (
        wrong(check_on_node, workload({"t": GATHER}), lonely)
        == "tasks.t: a collective on 1 GPU; needs a node of at least 2"
    )


def test_every_mistake_is_told_at_once(node):
    both = workload({"a": {**GATHER, "backend": "x"}, "b": {**GEMM, "library": "y"}})
    assert wrong(check_on_node, both, node).count("\n") == 1


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
    assert wrong(check_on_node, large, load_hardware("mi300x-8").node) == (
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
            "tasks.t.direction: 'pull' chooses between the engines of two GPUs; needs executor dma and a peer",
        ),
        (
            {"kind": "copy", "bytes": 1, "executor": "kernel", "engines": 2},
            "tasks.t.engines: a copy on compute units has no engines; needs executor dma",
        ),
    ],
)
def test_direction_and_engines_are_for_engines(task, message):
    assert wrong(check_workload, workload({"t": task})) == message


def test_libraries_left_out_are_the_first_of_the_node():
    for name in ("mi300x-8", "h200-4", "teaching-4"):
        check_on_node(workload({"g": GEMM, "c": GATHER}), load_hardware(name).node)
