"""The node of docs/your-node.md: it runs, says only what differs, and is as far off as it says."""

import re

import pytest
from places import ROOT

import c3sim
from c3sim.spec.reading.loading import load_hardware, load_node

PAGE = ROOT / "docs" / "your-node.md"
MEASURED = 0.72277e-3  # s; bf16 GEMM of 8192 on MI355X, HipKittens analysis/bf16_gemm @f09e9685


@pytest.fixture
def example(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "mi355x-8.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_it_is_short_and_every_number_in_it_has_a_source(example):
    assert len(example.read_text().splitlines()) <= 20
    loaded = load_hardware(example)
    own = {path: leaf for path, leaf in loaded.provenance.items() if not loaded.origin(path)}
    assert len(own) == 10
    assert all("data sheet" in leaf.source or ".rst" in leaf.source for leaf in own.values())


def test_what_it_says_is_what_runs(example):
    """256 units of 4096 FLOP per cycle at 2.4 GHz are the 2.5 PFLOPS of the data sheet."""
    gpu = load_node(example).gpu
    rates = gpu.compute_units.flops_per_cycle
    peak = {kind: gpu.compute_unit_count * gpu.clock.maximum * rates[kind] for kind in rates}
    assert gpu.compute_unit_count == 256
    assert peak["bf16"] == peak["fp16"] == pytest.approx(2.5e15, rel=0.01)
    assert peak["fp8"] == pytest.approx(5e15, rel=0.01)
    results = c3sim.compare("gemm-beside-all-gather", node=example, strategies="base,sp,conccl")
    older = c3sim.compare("gemm-beside-all-gather", strategies="base,sp,conccl")
    assert all(new.wall_s < old.wall_s for new, old in zip(results, older, strict=True))


def test_it_is_as_far_off_as_the_page_says(example):
    """'about 1.3 times': else the page has to be changed."""
    assert "about 1.3 times the 0.723 ms" in " ".join(PAGE.read_text(encoding="utf-8").split())
    result = c3sim.run("gemm-alone", node=example)
    assert 1.2 < result.wall_s / MEASURED < 1.35


@pytest.mark.parametrize(
    ("name", "gpus", "peak", "draws"),
    [("mi355x-8", 8, 2.5e15, 1400), ("mi355x-2", 2, 2.5e15, 1400), ("mi350x-8", 8, 2.3e15, 1000)],
)
def test_the_packaged_nodes_are_those_of_the_data_sheets(name, gpus, peak, draws):
    """MI350X: 2.3 PFLOPS at 2.2 GHz, 1000 W. Nothing of one MI300X's wiring is taken over."""
    node = load_node(name)
    rate = node.gpu.compute_units.flops_per_cycle["bf16"] * node.gpu.clock.maximum
    assert node.gpus == gpus
    assert node.gpu.compute_unit_count * rate == pytest.approx(peak, rel=0.01)
    assert node.gpu.clock.power_limit == draws
    assert node.engine_map is None
    assert node.gpu.dma_engines.bandwidth > node.links.bandwidth


def test_the_packaged_node_is_as_far_off_as_the_page_says():
    assert "1.04 times as long as measured" in " ".join(PAGE.read_text(encoding="utf-8").split())
    assert 1.03 < c3sim.run("gemm-alone", node="mi355x-8").wall_s / MEASURED < 1.05
