"""Nodes and GPUs that are like another one: what is taken over, from where, and what is not."""

from pathlib import Path

import pytest
from loading_case import errors_of

from c3sim.spec.reading.loading import load_hardware

BASE = load_hardware("mi300x-8")
FASTER = "{value: 8 TB/s, source: me}"


pytestmark = pytest.mark.usefixtures("here")


def node(text, name="mine.yaml"):
    Path(name).write_text(f"schema: 2\n{text}\n")
    return load_hardware(name)


def all_but(loaded, *paths):
    """Values of all fields but those at *paths* and the grade, which is of its own file alone."""
    left_out = {"grade", *paths}
    return {key: leaf.value for key, leaf in loaded.provenance.items() if key not in left_out}


@pytest.mark.parametrize(
    "text",
    [
        f"like: mi300x-8\nname: n\ngpu: {{hbm: {{bandwidth: {FASTER}}}}}",
        f"like: mi300x-8\nname: n\ngpu: {{like: mi300x, hbm: {{bandwidth: {FASTER}}}}}",
        "like: mi300x-8\nname: n\ngpu: gpu.yaml",
    ],
)
def test_one_number_deep_inside_differs_and_nothing_else(text):
    """Wherever it is written: in the node, in a GPU within it, in a GPU file of its own."""
    Path("gpu.yaml").write_text(
        f"schema: 2\nlike: mi300x\nname: AMD Instinct MI300X\nhbm: {{bandwidth: {FASTER}}}\n"
    )
    loaded = node(text)
    path = "gpu.hbm.bandwidth"
    assert loaded.node.gpu.hbm.bandwidth == 8e12 and loaded.provenance[path].source == "me"
    assert all_but(loaded, path) == all_but(BASE, path)
    own = {"name": "", "grade": BASE.node.grade, "gpu": BASE.node.gpu}
    assert loaded.node.changed(**own) == BASE.node.changed(name="")
    assert loaded.origin(path) == ""
    assert loaded.origin("gpu.hbm.latency") in ("mi300x-8", "mi300x")
    assert loaded.origin("links.latency") == "mi300x-8"


def test_a_value_is_replaced_with_all_that_is_said_of_it():
    """An interval or a fit of the other node's value says nothing of this one."""
    path = "gpu.compute_units.read_bandwidth"
    assert BASE.provenance[path].calibrated and BASE.provenance[path].interval
    text = "gpu: {compute_units: {read_bandwidth: {value: 40 B/cycle, source: me}}}"
    leaf = node(f"like: mi300x-8\n{text}").provenance[path]
    assert (leaf.calibrated, leaf.interval, leaf.fitted) == (None, None, "")


def test_libraries_keep_their_order_and_null_drops_one():
    """The first library of a node is the one that tasks use."""
    lost = "gpu: {gemm_libraries: {triton: null, hipblaslt: {setup: {value: 1 us, source: me}}}}"
    loaded = node(f"like: mi300x-8\n{lost}")
    assert list(loaded.node.gpu.gemm_libraries) == ["hipblaslt", "ck_blockscale"]
    assert loaded.node.gpu.gemm_libraries["hipblaslt"].setup == 1e-6
    assert not [path for path in loaded.provenance if ".triton." in path]


def test_an_optional_part_is_dropped_by_null():
    loaded = node("like: mi300x-8\ngpu: {memory_side_cache: null}")
    assert loaded.node.gpu.memory_side_cache is None
    assert not [path for path in loaded.provenance if "memory_side_cache" in path]


def test_it_is_named_by_its_file_unless_it_has_a_name():
    """Else what is known of the other node would be said of this one."""
    assert node("like: mi300x-8").node.name == "mine"


def test_what_came_from_where_through_two_files():
    latency = "latency: {value: 1 us, source: me}"
    node(f"like: mi300x-8\nname: first\nlinks: {{{latency}}}", "first.yaml")
    loaded = node("like: first.yaml\nhost: {launch_time: {value: 3 us, source: me}}")
    origins = {"host.launch_time": "", "links.latency": "first.yaml", "links.bandwidth": "mi300x-8"}
    assert {path: loaded.origin(path) for path in origins} == origins
    assert (loaded.node.links.latency, loaded.node.host.launch_time) == (1e-6, 3e-6)


def test_a_gpu_file_given_as_a_node_says_so():
    for text in ("like: mi300x\nhbm: {}", "names: {}\ndies: {}\nhbm: {}"):
        (error,) = errors_of(load_hardware, "mine.yaml", f"schema: 2\n{text}\n")
        assert error.startswith("mine.yaml:1: a GPU file, no node; a node file names it, as in gpu")


def test_a_node_file_given_as_a_gpu_says_so():
    node("like: mi300x-8", "other.yaml")
    Path("other.yaml").write_text("schema: 2\nlike: mi300x-8\ngpus: {value: 4, source: me}\n")
    (error,) = errors_of(load_hardware, "mine.yaml", "schema: 2\nlike: mi300x-8\ngpu: other.yaml\n")
    assert "a node file, no GPU" in error
