"""What a file takes over from a machine whose numbers it changes: scaled, or said."""

import pytest

from c3sim.errors import InputErrors
from c3sim.spec.reading.hardware import load_gpu, load_hardware, load_node
from c3sim.spec.reading.paths import NO_WORKLOAD
from c3sim.spec.reading.settings import parse_settings, remarks

OTHER_MEMORY = """\
like: h200-2
gpu: {like: h200, hbm: {bandwidth: {value: 3.35 TB/s, source: test}}}
"""
OPERAND_FEED = "gpu.gemm_libraries.cublas.operand_feed"


@pytest.fixture
def node(tmp_path):
    def load(text):
        (tmp_path / "mine.yaml").write_text(f"schema: 2\n{text}")
        return load_hardware(tmp_path / "mine.yaml")

    return load


def by_path(loaded):
    return {each.path: each for each in loaded.inherited}


def test_a_value_follows_the_number_that_a_file_changes(node):
    """3.35 of 4.8 TB/s: copies within a GPU at 2.17 TB/s become 1.51, their interval as well."""
    mine = node(
        "like: h200-2\ngpu: {like: h200, hbm: {bandwidth: {value: 3.35 TB/s, source: H100}}}"
    )
    base, path = load_hardware("h200-2"), "gpu.dma_engines.local_bandwidth"
    scaled = 3.35 / 4.8
    assert mine.node.gpu.dma_engines.local_bandwidth == pytest.approx(2.17e12 * scaled)
    leaf, old = mine.provenance[path], base.provenance[path]
    assert leaf.text == "1.51 TB/s" and leaf.scaled == pytest.approx(scaled)
    assert leaf.interval == pytest.approx([end * scaled for end in old.interval])
    assert leaf.calibrated.interval == pytest.approx(
        [end * scaled for end in old.calibrated.interval]
    )
    assert by_path(mine)[path].factor == pytest.approx(scaled)


def test_a_value_without_a_law_is_listed_with_the_number_it_was_fitted_at(node):
    mine = node(
        "like: h200-2\ngpu: {like: h200, hbm: {bandwidth: {value: 3.35 TB/s, source: H100}}}"
    )
    said = str(by_path(mine)["gpu.hbm.read_efficiency"])
    assert said == (
        "gpu.hbm.read_efficiency 1: inherited from h200, fitted at gpu.hbm.bandwidth 4.8 TB/s (here"
        " 3.35 TB/s)"
    )
    assert "gpu.l2.bandwidth" not in by_path(mine)  # it depends on the capacity of L2, which stays
    notes = remarks(mine, mine.node, NO_WORKLOAD, [])
    assert any("inherited from h200, fitted at" in note for note in notes)


def test_what_one_file_hands_on_is_one_note_however_many_numbers_differ(node):
    mine = node(
        "like: h200-2\ngpu: {like: h200, hbm: {bandwidth: {value: 3.35 TB/s, source: H100}}, "
        "l2: {capacity: {value: 50 MiB, source: H100}}}"
    )
    notes = remarks(mine, mine.node, NO_WORKLOAD, [])
    (note,) = (each for each in notes if "inherited from h200," in each)
    assert "gpu.hbm.bandwidth 4.8 TB/s (here 3.35 TB/s)" in note
    assert "gpu.l2.capacity 60 MiB (here 50 MiB)" in note


def test_a_chain_of_files_scales_from_where_the_value_was_fitted(tmp_path):
    """1.98 GHz, then 1.5, then 1.2 GHz: the value of the last is 1.2 / 1.98 of the first."""
    files = {"one": ("h200", "1.5 GHz"), "two": ("one.yaml", "1.2 GHz")}
    for name, (like, clock) in files.items():
        text = f"schema: 2\nlike: {like}\nclock: {{maximum: {{value: {clock}, source: test}}}}\n"
        (tmp_path / f"{name}.yaml").write_text(text)
    first = load_node("h200-2").gpu.gemm_libraries["cublas"].operand_feed
    last = load_gpu(tmp_path / "two.yaml")
    feed = last.node.gpu.gemm_libraries["cublas"].operand_feed
    assert feed == pytest.approx(first * 1.2 / 1.98)
    assert by_path(last)[OPERAND_FEED].origin == "h200"


def test_what_takes_cycles_takes_longer_at_a_lower_clock(node):
    """Half of 1.98 GHz: from a slice to the next 176 ns, 88 before, and the limits twice theirs."""
    mine = node("like: h200-2\ngpu: {like: h200, clock: {maximum: {value: 990 MHz, source: test}}}")
    assert mine.node.gpu.gemm_libraries["cublas"].slice_time == pytest.approx(176e-9)
    leaf = mine.provenance["gpu.gemm_libraries.cublas.slice_time"]
    assert leaf.interval == pytest.approx((164e-9, 200e-9))


def test_what_a_file_gives_itself_is_not_scaled(node):
    mine = node(
        "like: h200-2\ngpu:\n  like: h200\n  clock: {maximum: {value: 990 MHz, source: test}}\n"
        "  gemm_libraries: {cublas: {operand_feed: {value: 200 GB/s, source: test}}}"
    )
    assert mine.node.gpu.gemm_libraries["cublas"].operand_feed == 200e9
    assert OPERAND_FEED not in by_path(mine)


def test_a_scaled_value_carries_others_with_it(node):
    """raw 25 to 50 GB/s: a link's payload doubles, and the engine's rate that follows it."""
    mine = node("like: h200-2\nlinks: {raw_bandwidth: {value: 50 GB/s, source: test}}")
    assert mine.node.links.bandwidth == pytest.approx(2 * 21.1e9)
    assert mine.node.gpu.dma_engines.bandwidth == pytest.approx(2 * 380e9)


def test_a_number_set_by_hand_moves_alone_and_says_what_stays():
    loaded = load_hardware("mi300x-8")
    settings = parse_settings(["links.bandwidth=60 GB/s"])
    node, _ = settings.apply(loaded.node, None)
    assert node.gpu.dma_engines == loaded.node.gpu.dma_engines
    notes = list(remarks(loaded, node, NO_WORKLOAD, settings))
    assert any("given at links.bandwidth 48.5 GB/s (here 60.0 GB/s)" in note for note in notes)


def test_a_law_is_a_product_of_powers(node):
    entry = "{value: 5 GB/s, source: test, scales_with: WITH}"
    text = f"like: h200-2\nlinks: {{bandwidth: {entry}}}"
    mine = node(text.replace("WITH", "gpu.hbm.latency^-1 * links.per_peer"))
    assert mine.provenance["links.bandwidth"].law == {"gpu.hbm.latency": -1, "links.per_peer": 1}
    with pytest.raises(InputErrors, match=r"mine.yaml:3: .*is no product of numbers; write PATH"):
        node(text.replace("WITH", "two times the clock"))
