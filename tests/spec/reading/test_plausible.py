"""Numbers that contradict each other, and those far from any known GPU's."""

import pytest

import c3sim
from c3sim.errors import InputErrors
from c3sim.models.totals import bounds_of, links_out, totals_of
from c3sim.spec.reading.checks.plausible import implausible
from c3sim.spec.reading.hardware import load_hardware, load_node
from c3sim.spec.reading.paths import NO_WORKLOAD, set_value


def with_value(path, value):
    return set_value(load_node("mi300x-8"), NO_WORKLOAD, path, value)[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "links: {bandwidth: {value: 97 GB/s, source: x}}",
            "n.yaml:3: links.bandwidth: 97.0 GB/s is above links.raw_bandwidth, 64.0 GB/s, the"
            " signalling rate of a link; it is that of one link, 7 of a GPU have 679 GB/s",
        ),
        (
            "gpu: {like: mi300x, memory_side_cache: {bandwidth: {value: 2 TB/s, source: x}}}",
            "is less than gpu.hbm.bandwidth, 5.30 TB/s",
        ),
        (
            "gpu: {like: mi300x, clock: {maximum: {value: 400 MHz, source: x}}}",
            "n.yaml:3: gpu.clock.minimum: 500 MHz is above gpu.clock.maximum, 400 MHz",
        ),
        (
            "gpu: {like: mi300x, clock: {power_limit: {value: 100 W, source: x}}}",
            "leaves nothing of gpu.clock.power_limit, 100 W",
        ),
    ],
)
def test_a_contradiction_in_a_file_is_an_error(tmp_path, text, said):
    (tmp_path / "n.yaml").write_text(f"schema: 2\nlike: mi300x-8\n{text}\n")
    with pytest.raises(InputErrors) as error:
        load_hardware(tmp_path / "n.yaml")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_one_set_by_hand_is_said_with_the_total():
    result = c3sim.run("gemm-alone", set={"links.bandwidth": "97 GB/s"})
    (note,) = (note for note in result.notes if note.startswith("contradiction"))
    assert "7 of a GPU have 679 GB/s" in note


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("gpu.hbm.bandwidth", "1 B/s", "gpu.hbm.bandwidth 1.00 B/s; known GPUs have 320 GB/s to 8"),
        ("gpu.hbm.bandwidth", "900 TB/s", "gpu.hbm.bandwidth 900 TB/s"),
        ("gpu.clock.maximum", "10 MHz", "gpu.clock.maximum 10.0 MHz; known GPUs have 1410 MHz"),
        ("links.bandwidth", "2 TB/s", "links of a GPU, a direction 14.0 TB/s"),  # 7 links
    ],
)
def test_what_no_known_gpu_has_is_said(path, value, said):
    assert any(said in each for each in implausible(with_value(path, value)))


def test_a_task_that_moves_more_than_any_memory_holds_is_said():
    read = {"kind": "kernel", "read": "1e29 B"}
    given = {"schema": 1, "name": "w", "node": "mi300x-8", "tasks": {"s": read}}
    notes = c3sim.run(given).notes
    assert "implausible: task.s.read 1e+29 B; known GPUs have up to 288 GB of memory" in notes


def test_a_round_trip_of_no_time_limits_no_engine():
    """What is in flight for no time allows any rate: no total, no bound, and a run's answer."""
    instant, changed = ({"gpu.hbm.latency": "0 ns", "links.latency": "0 ns"}, load_node("mi300x-8"))
    for path in instant:
        changed = set_value(changed, NO_WORKLOAD, path, "0 ns")[0]
    assert "rate that they allow" not in {each.name for each in totals_of(changed)}
    (copy, *_) = bounds_of(changed)
    assert list(copy.limits) == ["gpu.dma_engines.bandwidth", "links.bandwidth"]
    assert c3sim.run("gemm-beside-all-gather", strategy="conccl", set=instant).wall_s > 0


def test_totals_of_mi300x():
    """304 units * 2048 FLOP * 2.1 GHz = 1.307 PFLOP/s; 7 links of 48.5 GB/s = 339.5 GB/s; bytes
    that fill a link: 48.5 GB/s * 2 (0.35 + 0.6) us = 92150.
    """
    node = load_node("mi300x-8")
    totals = {each.name: each.value for each in totals_of(node)}
    assert totals["bf16 matrix rate"] == pytest.approx(1.3074e15, rel=1e-3)
    assert links_out(node) == 7 and totals["links of a GPU, a direction"] == pytest.approx(339.5e9)
    assert totals["bytes in flight to one peer"] == pytest.approx(92150)
    switch = {each.name: each.value for each in totals_of(load_node("h200-8"))}
    assert switch["links of a GPU, a direction"] == pytest.approx(18 * 21.1e9)


def test_engines_that_use_links_better_than_kernels_are_told_so():
    """MI355X: 58.7 GB/s / 1.047 * 1.087 = 60.9 GB/s, of two sources 60.1 and 61.0; one way links
    would give 63.8 GB/s, so the engine binds.
    """
    node = load_node("mi355x-8")
    totals = {each.name: each.value for each in totals_of(node)}
    assert totals["a link by engines, both ways"] == pytest.approx(60.94e9, rel=1e-3)
    bound = next(bounds_of(node))
    assert bound.path == "gpu.dma_engines.bandwidth"
    assert bound.limits["links.bandwidth"] == pytest.approx(63.8e9, rel=1e-3)
    kernels = {each.name for each in totals_of(load_node("mi300x-8"))}
    assert "a link by engines, both ways" not in kernels


def test_the_limit_that_binds_a_copy_by_an_engine():
    """100 kB in flight over 1.9 us are 52.6 GB/s: under a link of 97 GB/s, above one of 48.5."""
    for links, binds in (
        ("48.5 GB/s", "links.bandwidth"),
        ("97 GB/s", "gpu.dma_engines.bandwidth"),
    ):
        bound = next(bounds_of(with_value("links.bandwidth", links)))
        assert bound.path == binds
    assert bound.limits["gpu.dma_engines.bytes_in_flight"] == pytest.approx(52.63e9, rel=1e-3)
