"""GPUs and nodes that the loader accepts, and the one line it says about each mistake."""

from pathlib import Path

import pytest
from loading_case import HWMODELS, errors_of

from c3sim.spec.reading.loading import load_hardware

pytestmark = pytest.mark.usefixtures("here")


# Hardware -----------------------------------------------------------------------------------------
# -------------


def test_a_leaf_is_kept_beside_the_plain_number():
    loaded = load_hardware("teaching-4")
    assert loaded.node.gpu.hbm.bandwidth == 250e9
    leaf = loaded.provenance["gpu.hbm.bandwidth"]
    assert (leaf.text, leaf.value, leaf.unit) == ("250 GB/s", 250e9, "B/s")
    assert leaf.source == "invented for teaching"
    lines = Path(leaf.file).read_text().splitlines()
    assert "bandwidth: {value: 250 GB/s" in lines[leaf.line - 1]


def test_intervals_are_converted_like_values():
    leaf = load_hardware("mi300x-8").provenance["gpu.dma_engines.poll_latency"]
    assert leaf.interval == (0.3e-6, 2.5e-6)
    assert leaf.estimate


def _node(gpu="gpu: ./gpu.yaml"):
    return (HWMODELS / "nodes" / "teaching-4.yaml").read_text().replace("gpu: teaching", gpu)


def test_a_node_can_hold_its_gpu_inline():
    inline = "gpu:\n" + "".join(
        f"  {line}\n"
        for line in (HWMODELS / "teaching.yaml").read_text().splitlines()
        if line != "schema: 2"
    )
    Path("node.yaml").write_text(_node(inline))
    inlined, referenced = load_hardware("node.yaml"), load_hardware("teaching-4")
    assert inlined.node == referenced.node
    assert inlined.provenance.keys() == referenced.provenance.keys()


def test_a_rule_of_the_whole_node_is_told_in_its_own_words():
    lines = errors_of(
        load_hardware,
        "node.yaml",
        _node("gpu: teaching").replace("{value: 4, source", "{value: 2, source", 1),
    )
    assert lines == ["node.yaml:1: a ring needs at least 3 GPUs, got gpus=2"]


# Nodes that are like another
# -----------------------------------------------------------------------------------


def _like(text):
    Path("mine.yaml").write_text(text)
    return "mine.yaml"


def test_what_a_node_leaves_out_it_has_from_the_one_it_is_like():
    loaded = load_hardware(
        _like(
            "schema: 2\nlike: teaching-4\nname: six\ndescription: d\ngpus: {value: 6, source: me}\n"
        )
    )
    base = load_hardware("teaching-4")
    assert (loaded.node.name, loaded.node.gpus) == ("six", 6)
    assert loaded.node.gpu == base.node.gpu and loaded.node.links == base.node.links
    assert loaded.provenance["links.bandwidth"].file == base.provenance["links.bandwidth"].file
    assert loaded.provenance["gpus"].source == "me"
