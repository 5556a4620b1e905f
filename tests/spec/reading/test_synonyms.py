"""The words of users: understood where they stand for a name, answered where they do not."""

import re

import pytest
from places import ROOT

import c3sim
from c3sim.evaluation.strategies.table import STRATEGIES
from c3sim.experiments.outputs import FIELDS, output_name
from c3sim.spec.reading.loading import load_node, load_workload, parse_workload
from c3sim.spec.reading.paths import canonical, get_value, set_value
from c3sim.spec.words import WORDS, alias, word

NODES = [load_node(name) for name in ("mi300x-8", "h200-2")]
PAIR = load_workload("gemm-beside-all-gather")
PAGE = ROOT / "docs" / "nomenclature.md"


@pytest.mark.parametrize("name", WORDS)
def test_what_a_word_stands_for_is_there(name):
    """So the table cannot grow stale."""
    entry = WORDS[name]
    assert not entry.strategy or entry.strategy in STRATEGIES
    if entry.path:
        last = entry.path.rpartition(".")[0]  # of one node at least
        assert any(_leads_somewhere(node, entry.path) for node in NODES), last
    assert len(entry.means) < 160  # a message stays under 300 characters


def _leads_somewhere(node, path):
    try:
        get_value(node, PAIR, path)
    except c3sim.InputError:
        return False
    return True


@pytest.mark.parametrize("name", WORDS)
def test_every_word_stands_in_the_nomenclature(name):
    table = PAGE.read_text(encoding="utf-8").partition("## Words of others")[2].lower()
    assert name.replace("_", " ") in re.split(r"[|,\n] *| *\|", table)


def test_case_and_hyphens_do_not_matter():
    assert word("MALL") is word("mall") and word("Infinity-Cache") is word("infinity_cache")
    assert word("nothing of the kind") is None


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("sdma.count", "gpu.dma_engines.count"),
        ("SDMA.bandwidth", "gpu.dma_engines.bandwidth"),
        ("hw.mall.capacity", "gpu.memory_side_cache.capacity"),
        ("MALL.capacity", "gpu.memory_side_cache.capacity"),
        ("hbm.bandwidth", "gpu.hbm.bandwidth"),
        ("xcd.count", "gpu.dies.count"),
        ("xgmi.bandwidth", "links.bandwidth"),
        ("rccl.min_slices", "collective_libraries.rccl.min_slices"),
        ("tdp", "gpu.clock.power_limit"),
        ("task.sdma.bytes", "task.sdma.bytes"),  # a task of that name
        ("links.bandwidth", "links.bandwidth"),
        ("gpus", "gpus"),
    ],
)
def test_paths_may_begin_with_a_word(path, meant):
    assert canonical(path) == meant


def test_a_word_sets_what_it_stands_for():
    node, _ = set_value(NODES[0], PAIR, "sdma.count", "4")
    assert node.gpu.dma_engines.count == 4


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("sdma.cuont", "unknown path 'sdma.cuont'; did you mean 'sdma.count'?"),
        ("sm.count", "sm is compute units: their number is gpu.dies.count times"),
        ("hw.CU.number", "unknown path 'hw.CU.number'; CU is compute units"),
    ],
)
def test_a_path_that_leads_nowhere_is_answered(path, said):
    with pytest.raises(c3sim.InputError) as caught:
        set_value(NODES[0], PAIR, path, "4")
    assert said in str(caught.value) and len(str(caught.value)) < 300


def test_strategies_by_the_names_of_what_carries_the_collective():
    results = c3sim.compare(PAIR, strategies="rccl,sdma,NCCL")
    assert [result.strategy for result in results] == ["base", "conccl", "base"]
    assert c3sim.explain(PAIR, strategy="sdma").strategy == "conccl"


def test_outputs_by_words():
    assert output_name("overlap") == "fraction_of_ideal" and output_name("wall") == "wall_s"
    assert output_name("nothing") == "nothing"
    assert output_name("exposed") == ("exposed_s" if "exposed_s" in FIELDS else "exposed")


def test_values_of_fields_by_words():
    task = {"kind": "copy", "bytes": "1 MiB", "executor": "SDMA"}
    copy = parse_workload({"schema": 1, "name": "w", "tasks": {"t": task}}).tasks["t"]
    assert copy.executor == "dma"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("fsdp", "dp_shard"), ("tensor", "tp"), ("dp", "dp_shard"), ("virtual-pipeline", "chunks")],
)
def test_a_word_in_place_of_a_field_is_answered_by_that_field(name, meant):
    """Not by what the word may mean elsewhere, as the pair of FSDP."""
    with pytest.raises(c3sim.InputError) as caught:
        c3sim.run("llama3-8b-training", set={"parallel": {name: 4}})
    assert str(caught.value).endswith(f"unknown field {name!r}; did you mean {meant!r}?")


def test_a_name_that_is_there_is_never_an_alias():
    assert alias("dma", "value", ["dma", "kernel"]) == "dma"
    assert alias("sdma", "value", ["kernel"]) == "sdma"
