"""What the loader accepts of GPUs and nodes, and the one line it says about each mistake."""

from pathlib import Path

import pytest
from loading_case import HWMODELS, errors_of

from c3sim.input import library
from c3sim.input.loading import load_hardware


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Errors print the path relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Hardware -----------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize("name", library.names("node"))
def test_every_packaged_node_loads_and_every_number_has_a_source(name):
    loaded = load_hardware(name)
    assert all(leaf.source for leaf in loaded.provenance.values())
    assert all(leaf.interval for leaf in loaded.provenance.values() if leaf.estimate)


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


def _gpu_with(old, new):
    text = (HWMODELS / "teaching.yaml").read_text()
    assert old in text
    return text.replace(old, new)


def _node(gpu="gpu: ./gpu.yaml"):
    return (HWMODELS / "nodes" / "teaching-4.yaml").read_text().replace("gpu: teaching", gpu)


def _gpu_line(start):
    lines = Path("gpu.yaml").read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.strip().startswith(start))


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        (
            "bandwidth: {value: 250 GB/s,",
            "bandwith: {value: 250 GB/s,",
            "bandwith",
            "hbm: unknown field 'bandwith'; did you mean 'bandwidth'?",
        ),
        (
            "{value: 250 GB/s, source: invented for teaching}",
            "250 GB/s",
            "bandwidth: 250",
            "hbm.bandwidth: '250 GB/s' has no source; write {value: ..., source: ...}",
        ),
        (
            "{value: 250 GB/s, source: invented for teaching}",
            "{value: 250 GB/s}",
            "bandwidth: {value: 250",
            "hbm.bandwidth: the value has no source; say where it comes from, as source: ...",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250,",
            "bandwidth: {value: 250",
            "hbm.bandwidth: 250 has no unit; append one that converts to B/s, as in '48 GB/s'",
        ),
        (
            "{value: 250 GB/s,",
            "{value: -250 GB/s,",
            "bandwidth: {value: -250",
            "hbm.bandwidth: got '-250 GB/s'; must be greater than 0",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 2000 Gb/s,",
            "bandwidth: {value: 2000",
            "hbm.bandwidth: unit 'Gb/s' counts bits; only bytes parse, such as GB/s (8 bits are "
            "1 byte), as in '48 GB/s'",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250 GB/s, estimate: true,",
            "bandwidth: {value: 250",
            "hbm.bandwidth: an estimate needs an interval; write interval: [low, high]",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250 GB/s, interval: [1 GB/s, 2 GB/s],",
            "bandwidth: {value: 250",
            "hbm.bandwidth.interval: ['1 GB/s', '2 GB/s'] does not hold the value '250 GB/s'; "
            "must be [low, high] around it",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250 GB/s, sauce: x,",
            "bandwidth: {value: 250",
            "hbm.bandwidth: unknown field 'sauce'; did you mean 'source'?",
        ),
        (
            "mixed_efficiency: {value: 0.8,",
            "mixed_efficiency: {value: 1.8,",
            "mixed_efficiency",
            "hbm.mixed_efficiency: got 1.8; must be at most 1",
        ),
        (
            "shader_engines: {value: [4, 3],",
            "shader_engines: {value: [4, 0],",
            "shader_engines",
            "dies.shader_engines[1]: got 0; must be greater than 0",
        ),
        (
            "dispatch: {value: weighted_rotation,",
            "dispatch: {value: strict_rotatoin,",
            "dispatch",
            "dies.dispatch: unknown value 'strict_rotatoin'; did you mean 'strict_rotation'?",
        ),
    ],
)
def test_a_mistake_in_a_gpu_file_is_named_on_its_line(old, new, at, message):
    Path("gpu.yaml").write_text(_gpu_with(old, new))
    lines = errors_of(load_hardware, "node.yaml", _node())
    assert f"gpu.yaml:{_gpu_line(at)}: {message}" in lines
    others = [line for line in lines if message not in line]
    assert all(
        "missing field" in line for line in others
    )  # a misspelt field is missing under its right name


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


def test_an_unknown_gpu_is_an_error_of_the_node_file():
    lines = errors_of(load_hardware, "node.yaml", _node("gpu: teachin"))
    line = 1 + _node("gpu: teachin").splitlines().index("gpu: teachin")
    said = "unknown gpu 'teachin'; did you mean 'teaching'? ('c3sim list gpus' shows them)"
    assert lines == [f"node.yaml:{line}: gpu: {said}"]


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema: 2\nlike: nothing\nname: x\n", "like: unknown node 'nothing'"),
        ("schema: 2\nlike: mine.yaml\nname: x\n", "like: mine.yaml is like itself"),
        ("schema: 2\nlike: [1]\nname: x\n", "like: must be the name or the path of a node file"),
        ("schema: 2\nlike: teaching-4\nname: x\nlimks: 1\n", "unknown field 'limks'"),
    ],
)
def test_mistakes_in_a_node_that_is_like_another(text, said):
    errors = errors_of(load_hardware, "mine.yaml", text)
    assert len(errors) == 1 and said in errors[0], errors
