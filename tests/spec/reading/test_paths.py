"""One grammar for any value of a node or a workload."""

import numpy as np
import pytest

from c3sim.errors import InputError
from c3sim.spec.reading.loading import load_hardware, load_node, parse_workload
from c3sim.spec.reading.paths import get_value, paths_of, set_value, unit_of

NODE = load_node("mi300x-8")
WORKLOAD = parse_workload(
    {
        "schema": 1,
        "name": "pair",
        "buffers": {"weights": {"bytes": "1 MiB"}},
        "tasks": {
            "gather": {
                "kind": "collective",
                "op": "all_gather",
                "size": "896 MiB",
                "stream": "comm",
            },
            "gemm": {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "reads": ["weights"]},
        },
    }
)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("gpu.hbm.bandwidth", "6 TB/s", 6e12),
        ("gpu.dma_engines.count", "16", 16),
        ("gpu.dma_engines.count", 16, 16),  # Python data as well as text
        ("gpu.dies.shader_engines", "[4, 3]", (4, 3)),
        ("gpu.dies.dispatch", "work_conserving", "work_conserving"),
        ("gpu.memory_side_cache", "null", None),  # a GPU may have none
        ("gpus", "4", 4),
        ("links.bandwidth", "96 GB/s", 96e9),
        ("host.launch_time", "2 us", 2e-6),
        ("collective_libraries.rccl.channels.default.all_gather", "28", 28),
        ("task.gather.channels", "32", 32),
        ("task.gather.size", "1 GiB", 2.0**30),
        ("task.gemm.macro_tile", "[128, 128]", (128, 128)),
        ("task.gemm.after", ["gather.chunk[0]"], ("gather.chunk[0]",)),
        ("stream.comm.priority", "1", 1),  # used by a task, so it need not be declared
        ("stream.comm.compute_units", "0-31", "0-31"),
        ("buffer.weights.state", "warm", "warm"),
        ("workload.host.launch", "eager", "eager"),
    ],
)
def test_a_value_is_set_in_a_copy(path, text, value):
    node, workload = set_value(NODE, WORKLOAD, path, text)
    assert get_value(node, workload, path) == value
    assert get_value(NODE, WORKLOAD, path) != value  # the originals stay


def test_all_else_stays_as_it_was():
    node, workload = set_value(NODE, WORKLOAD, "links.bandwidth", "96 GB/s")
    assert workload is WORKLOAD
    assert node.gpu is NODE.gpu
    assert set_value(node, workload, "links.bandwidth", "48.5 GB/s")[0] == NODE


def test_numbers_of_numpy_are_numbers():
    node, _ = set_value(NODE, WORKLOAD, "gpu.dma_engines.count", np.arange(3)[2])
    assert node.gpu.dma_engines.count == 2


def test_every_listed_path_can_be_read():
    listed = paths_of(NODE, WORKLOAD)
    assert len(set(listed)) == len(listed)
    for path in listed:
        get_value(NODE, WORKLOAD, path)


def test_every_number_with_a_source_has_a_path():
    assert set(load_hardware("mi300x-8").provenance) <= set(paths_of(NODE, WORKLOAD))


@pytest.mark.parametrize(
    ("path", "unit"),
    [("gpu.hbm.bandwidth", "B/s"), ("gpu.dma_engines.count", ""), ("task.gather.size", "B")],
)
def test_the_unit_of_a_path(path, unit):
    assert unit_of(NODE, WORKLOAD, path) == unit


def test_rules_of_the_whole_hold_too():
    ring, workload = set_value(NODE, WORKLOAD, "links.topology", "ring")
    with pytest.raises(InputError) as caught:
        set_value(ring, workload, "gpus", "2")
    assert str(caught.value) == "gpus: a ring needs at least 3 GPUs, got gpus=2"
