"""Values of an axis: lists, ranges, linked axes; each mistake with file and line."""

import pytest
from sweep_case import STUDY, write

from c3sim.errors import InputError
from c3sim.experiments.axes import Grid, axis_groups, make_axis
from c3sim.iterations.described import subject
from c3sim.spec.reading.loading import load_node, load_workload, open_study
from c3sim.spec.reading.paths import set_value
from c3sim.spec.study import Range

NODE = load_node("teaching-4")
WORKLOAD = load_workload("gemm-beside-all-gather")


def axis(path, values, node=NODE):
    return make_axis(path, values, node, [WORKLOAD])


def between(start, to, **fields):
    return Range.model_validate({"from": start, "to": to, **fields})


@pytest.mark.parametrize(
    ("path", "values", "expected"),
    [
        ("hw.sdma.engines", (2, 4), (2, 4)),
        ("links.bandwidth", ("1 GB/s", "2000 MB/s"), (1e9, 2e9)),
        ("links.topology", ("ring", "full_mesh"), ("ring", "full_mesh")),
        ("gpu.dies.shader_engines", ([4, 3], [4, 4]), ((4, 3), (4, 4))),
        ("task.gather.channels", (None, 4), (None, 4)),
        ("links.bandwidth", between("10 GB/s", "30 GB/s", steps=3), (10e9, 20e9, 30e9)),
        (
            "links.bandwidth",
            between("30 GB/s", "10 GB/s", steps=3),
            (30e9, 20e9, 10e9),
        ),  # downwards
        ("links.bandwidth", between("1 GB/s", "100 GB/s", steps=3, log=True), (1e9, 10e9, 100e9)),
        ("task.gather.size", between("64 MiB", "1 GiB", factor=4), (2**26, 2**28, 2**30)),
        (
            "task.gather.size",
            between("64 MiB", "1000 MiB", factor=4),
            (2**26, 2**28),
        ),  # not beyond the end
        ("hw.sdma.engines", between(2, 16, factor=2), (2, 4, 8, 16)),
        (
            "hw.sdma.engines",
            between(1, 3, steps=5),
            (1, 2, 3),
        ),  # 1.5 and 2.5 round to 2: each count once
    ],
)
def test_values_in_si_units(path, values, expected):
    assert axis(path, values).values == expected


def test_a_grid_crosses_scenarios_axes_and_strategies_the_last_fastest():
    width = axis("links.bandwidth", ("1 GB/s", "2 GB/s"))
    count, topology = (
        axis("hw.sdma.engines", (2, 4)),
        axis("links.topology", ("ring", "full_mesh")),
    )
    grid = Grid(scenarios=("a", "b"), groups=((width,), (count, topology)), strategies=("x", "y"))
    places = list(grid.places())
    assert grid.size == len(places) == 2 * 2 * 2 * 2
    assert places[:3] == [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0)]
    assert grid.settings(places[2]) == (
        ("links.bandwidth", 1e9),
        (count.path, 4),
        ("links.topology", "full_mesh"),
    )
    assert grid.texts(places[-1]) == {
        "links.bandwidth": "2 GB/s",
        "hw.sdma.engines": 4,
        "links.topology": "full_mesh",
    }


def test_a_layout_is_one_value_named_by_its_text():
    """On one line as in a file; its fields are checked as anywhere."""
    step = subject("llama3-8b-training")
    layouts = ({"dp_shard": 4, "tp": 2, "sequence": False}, [{"kind": "ddp"}])
    values = make_axis("parallel", layouts, NODE, [step]).values
    assert values == ("{dp_shard: 4, tp: 2, sequence: false}", "[{kind: ddp}]")
    changed = set_value(NODE, step, "parallel", values[0])[1].iteration.parallel
    assert (changed.dp_shard, changed.tp, changed.sequence) == (4, 2, False)


def test_words_of_people_lead_to_one_path():
    """``hw.`` and the vendor's words are aliases; results name the canonical path."""
    assert axis("hw.sdma.engines", (2,)).path == "gpu.dma_engines.count"
    assert (
        axis("hw.infinity_cache.bandwidth", ("1 TB/s",), load_node("mi300x-8")).path
        == "gpu.memory_side_cache.bandwidth"
    )
    assert axis("hw.links.bandwidth", ("1 GB/s",)).path == "links.bandwidth"
    assert axis("hw.hbm.bandwidth", ("1 TB/s",)).path == "gpu.hbm.bandwidth"


def test_what_a_column_is_called():
    found = axis("hw.sdma.bandwidth", ("1 GB/s",))
    assert (found.unit, found.label, found.numeric) == ("B/s", "dma engines bandwidth", True)
    assert not axis("links.topology", ("ring",)).numeric


ENGINES = "hw.sdma.engines: [1, 2]"


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("hw.sdma.engins: [1]", "9: axes.'hw.sdma.engins': unknown path 'hw.sdma.engins'; "),
        ("hw.hbm.bandwith: [1 TB/s]", "did you mean 'hw.hbm.bandwidth'?"),
        ("hw.sdma.engines: [1.5]", "9: axes.'hw.sdma.engines': 1.5 is not a whole number"),
        ("hw.sdma.engines: [0]", "9: axes.'hw.sdma.engines': got 0; must be greater than 0"),
        ("hw.sdma.engines: []", "9: axes.'hw.sdma.engines': no values"),
        ("hw.sdma.engines: 4", "9: axes.'hw.sdma.engines': 4 is not a list"),
        ("hw.sdma.bandwidth: [4]", "9: axes.'hw.sdma.bandwidth': 4 has no unit"),
        ("hw.sdma.engines: {from: 1, to: 4}", "a range of an axis needs steps: n, or factor: f"),
        ("hw.sdma.engines: {from: 1, to: 4, steps: 2, factor: 2}", "steps or a factor, not both"),
        (
            "hw.sdma.engines: {from: 1, to: 4, steps: 1}",
            "9: axes.'hw.sdma.engines'.steps: got 1; must be at least 2",
        ),
        (
            "hw.sdma.engines: {from: 1, to: 4, stepz: 2}",
            "unknown field 'stepz'; did you mean 'steps'?",
        ),
        ("hw.sdma.engines: {from: 4, to: 4, steps: 2}", "the ends must differ"),
        (
            "hw.host.launch_time: {from: 0 us, to: 4 us, factor: 2}",
            "in ratios both ends must be above 0",
        ),
        (
            "hw.links.bandwidth: [1 GB/s]",
            "the same value as 'hw.links.bandwidth'; a path is one axis",
        ),
        ("task.gemm.q: [1]", "unknown path 'task.gemm.q'"),
    ],
)
def test_mistakes(tmp_path, monkeypatch, new, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, STUDY.replace(ENGINES, new))
    with pytest.raises(Exception) as caught:
        axis_groups(open_study("small.yaml"), NODE, [WORKLOAD])
    assert str(caught.value).startswith("small.yaml:") and message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_linked_axes_are_of_one_length(tmp_path):
    text = (
        STUDY
        + "linked:\n  - gpu.hbm.bandwidth: [1 TB/s, 2 TB/s]\n    gpu.l2.bandwidth: [100 B/cycle]\n"
    )
    with pytest.raises(
        InputError, match=r":12: linked\[0\]: linked axes of different lengths: gpu.hbm.bandwidth 2"
    ):
        axis_groups(open_study(write(tmp_path, text)), NODE, [WORKLOAD])
