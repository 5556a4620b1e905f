"""The picture of a run: its lanes, its panels, its numbers, and that it is a file."""

from dataclasses import replace

import pytest

from c3sim.errors import InputError
from c3sim.kit.steps import binned
from c3sim.output.pictures.timeline import plot_timeline
from c3sim.output.pictures.timeline_lanes import by_kind, rows_of
from c3sim.result import Timeline

pytestmark = pytest.mark.turns(5)


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def texts(artist):
    return [text.get_text() for text in artist.texts]


def test_a_panel_per_counter_with_its_unit_and_the_time_below(result):
    figure = plot_timeline(result)
    assert titles(figure)[1:] == [
        "Busy compute units",
        "HBM bandwidth",
        "Outgoing link bandwidth, mean of 3 links",
        "Engine clock",
        "Power",
    ]
    assert [axes.get_ylabel() for axes in figure.axes[1:]] == ["units", "GB/s", "GB/s", "MHz", "W"]
    assert figure.axes[-1].get_xlabel() == "time since all streams were released (ms)"
    assert figure.axes[-1].get_xlim() == pytest.approx((0, 3))


def test_title_and_subtitle_say_what_was_run_and_how_it_went(result):
    assert texts(plot_timeline(result)) == [
        "gemm_all_gather on mi300x-8, strategy base",
        "wall 3.000 ms; one task after the other 3.750 ms; speedup 1.25x, ideal 1.50x; "
        "fraction of ideal 50.0 % (collectives on CUs)\n"
        "exposed communication 0.000 ms; compute stretched by 0.250 ms",
    ]
    assert "fraction" not in texts(plot_timeline(replace(result, fraction_of_ideal=None)))[1]


def test_a_lane_shows_waiting_running_and_the_task_alone(result):
    lanes = plot_timeline(result).axes[0]
    assert texts(lanes) == [
        "gemm",
        "ran 3.000 ms: in all 1.20x its 2.500 ms alone",
        "gather",
        "waited 0.500 ms, ran 1.500 ms: in all 1.60x its 1.250 ms alone",
    ]
    # from, to, height: the GEMM, alone below it; the gather, thin while it waits, alone below it
    expected = [(0, 3, 0.34), (0, 2.5, 0.11), (0, 0.5, 0.08), (0.5, 2, 0.34), (0.5, 1.75, 0.11)]
    assert bars(lanes) == [pytest.approx(bar) for bar in expected]


def bars(lanes):
    boxes = [bar.get_paths()[0].get_extents() for bar in lanes.collections]
    return [(box.x0, box.x1, box.height) for box in boxes]


def test_tasks_of_a_stream_share_a_row(result):
    """Two GEMMs of one stream: the second is ready when the first ends, and waits for room."""
    first = replace(result.tasks["gemm"], stream="compute", end_s=1e-3, isolated_s=1e-3)
    times = {"ready_s": 1e-3, "start_s": 2e-3, "end_s": 3e-3, "isolated_s": 0.5e-3}
    tasks = {"one": first, "other": replace(first, **times)}
    lanes = plot_timeline(replace(result, tasks=tasks)).axes[0]
    said = "2 tasks ran 2.000 ms, alone 1.500 ms, waited 1.000 ms for room"
    assert texts(lanes) == ["compute", said, "one", "other"]
    expected = [(0, 1, 0.34), (0, 1, 0.11), (1, 2, 0.08), (2, 3, 0.34), (2, 2.5, 0.11)]
    assert bars(lanes) == [pytest.approx(bar) for bar in expected]


def test_many_tasks_without_a_stream_share_rows_by_kind(result):
    tasks = {f"{kind}{i}": task for i in range(20) for kind, task in result.tasks.items()}
    rows = rows_of(tasks, 16)
    assert [(row.name, len(row.tasks)) for row in rows] == [
        ("gemm tasks of no stream", 20),
        ("collective tasks of no stream", 20),
    ]


def test_panels_are_split_by_kind(result):
    """The parts of two tasks of one kind are added."""
    units = result.trace.counters[0]
    split = by_kind(units, {"gemm": "gemm", "gather": "gemm"})
    assert split.by_task == {"gemm": [304, 304, 304, 0]}


def test_panels_of_many_steps_show_means(result):
    """304, 272 and 304 units until 0.5, 2 and 3 ms: half of 1.5 ms is 0.5 ms of the one and 1 ms of
    the other, and so on.
    """
    units = result.trace.counters[0]
    few = binned(units, 3e-3, 2)
    assert few.times == pytest.approx([0, 1.5e-3, 3e-3])
    gemm = [(304 * 0.5 + 272) / 1.5, (272 * 0.5 + 304) / 1.5]
    assert few.by_task["gemm"] == pytest.approx([*gemm, gemm[-1]])
    assert binned(units, 3e-3, 4) is units


def test_five_hundred_tasks_stay_readable(result):
    """Three streams are three rows, and nothing is written over anything else."""
    gemm = replace(result.tasks["gemm"], isolated_s=1e-6)
    tasks = {
        f"t{i}": replace(
            gemm, stream=f"s{i % 3}", ready_s=i * 6e-6, start_s=i * 6e-6, end_s=(i + 1) * 6e-6
        )
        for i in range(500)
    }
    figure = plot_timeline(replace(result, tasks=tasks))
    written = texts(figure.axes[0])
    assert len(written) == 6 and {"s0", "s1", "s2"} < set(written)
    assert figure.get_size_inches()[1] < 12


def test_panels_show_capacity_and_mean(result):
    units, hbm, links, clock, power = plot_timeline(result).axes[1:]
    assert texts(units) == ["all 304 units"] and texts(hbm) == ["capacity 5300 GB/s"]
    # 1500 GB/s for 0.5 ms, 1900 for 1.5 ms, 1500 for 1 ms: 1700 on average, 32 % of 5300
    assert hbm.get_title(loc="right") == "mean 1700 GB/s, 32 % of capacity"
    assert (
        links.get_title(loc="right") == "mean 20.5 GB/s, 43 % of capacity"
    )  # 41 GB/s half of the time
    assert texts(clock) == ["highest 2100 MHz"] and texts(power) == ["limit 750 W"]


def test_one_legend_with_a_key_per_kind(result):
    (legend,) = plot_timeline(result).legends
    keys = ["gemm", "collective", "thin: waiting for tasks", "in colour: for room"]
    keys += ["light bar: the task alone", "capacity or limit"]
    assert [text.get_text() for text in legend.get_texts()] == keys


def test_a_clock_that_starts_late_is_not_drawn_from_zero(result):
    clock = replace(
        next(c for c in result.trace.counters if c.name == "gpu0.clock"),
        times=[1e-5, 1e-3, 2e-3, 3e-3],
    )
    timeline = Timeline(spans=[], counters=[clock], end=3e-3)
    axes = plot_timeline(replace(result, trace=timeline)).axes[1]
    assert axes.get_ylim()[0] > 1000 and axes.lines[0].get_xdata()[0] == pytest.approx(0.01)


def test_absent_and_idle_counters_get_no_panel(result):
    idle = [
        replace(c, values=[0.0] * 4, by_task={})
        for c in result.trace.counters
        if c.name == "gpu0.hbm"
    ]
    assert (
        len(plot_timeline(replace(result, trace=Timeline(spans=[], counters=idle, end=3e-3))).axes)
        == 1
    )


def test_a_gpu_that_was_not_recorded_is_no_empty_picture(result):
    with pytest.raises(InputError, match="'gpu1' was not recorded"):
        plot_timeline(result, gpu="gpu1")


def test_short_runs_are_in_microseconds(result):
    timeline = Timeline(spans=[], counters=[], end=20e-6)
    figure = plot_timeline(replace(result, wall_s=20e-6, trace=timeline))
    assert figure.axes[-1].get_xlabel().endswith("(us)")


@pytest.mark.slow
def test_many_tasks_with_long_names(result):
    tasks = {
        f"gather of $layer$ {number:02}": replace(result.tasks["gather"], stream=f"s{number}")
        for number in range(20)
    }
    figure = plot_timeline(replace(result, tasks=tasks))
    assert texts(figure)[1].endswith("(rows of the first 16 streams: 16 of 20 tasks)")
    figure.draw_without_rendering()  # a dollar sign is no formula
    legend = figure.legends[0].get_window_extent()
    assert legend.x1 < figure.bbox.x1 and legend.y0 > figure.axes[0].get_window_extent().y1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "magic"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_the_same_result_gives_the_same_bytes(result, tmp_path, suffix, magic):
    paths = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for path in paths:
        plot_timeline(result, path)
    assert paths[0].read_bytes() == paths[1].read_bytes() and paths[0].read_bytes().startswith(
        magic
    )


def test_what_cannot_be_drawn(result, tmp_path):
    with pytest.raises(InputError, match=r"unknown suffix '\.gif'; allowed: \.png, \.svg, \.pdf"):
        plot_timeline(result, tmp_path / "a.gif")
    with pytest.raises(InputError, match="holds no timeline"):
        plot_timeline(replace(result, trace=None), tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_power_by_component_is_a_panel_with_a_key_of_its_own(result):
    """If the counter knows components; their areas lie on each other up to the total."""
    power = next(counter for counter in result.trace.counters if counter.name == "gpu0.power")
    idle = [140.0] * len(power.values)
    parts = {"compute_units": [value - 140.0 for value in power.values], "idle": idle}
    counters = [replace(c, by_component=parts) if c is power else c for c in result.trace.counters]
    timeline = replace(result.trace, counters=counters, component_names={"compute_units": "CU"})
    figure = plot_timeline(replace(result, trace=timeline))
    axes = figure.axes[-1]
    assert titles(figure)[-2:] == ["Power", "Power by component"] and axes.get_ylabel() == "W"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["CU", "idle"]
    tops = [max(y for _, y in areas.get_paths()[0].vertices) for areas in axes.collections]
    assert tops[:2] == [610.0, 750.0]


def test_units_that_tasks_share_are_striped_and_counted_once(result):
    """All 304 units with the GEMM, 32 of them with the gather as well: not 336."""
    plain = plot_timeline(result).axes[1]
    assert "striped" not in plain.get_title(loc="right")
    units, *others = result.trace.counters
    both = replace(units, values=[304, 304, 304, 0], by_task={**units.by_task, "gemm": [304] * 4})
    shown = replace(result, trace=replace(result.trace, counters=(both, *others)))
    panel = plot_timeline(shown).axes[1]
    assert panel.get_title(loc="right").endswith("; striped: shared")
    striped = [area for area in panel.collections if area.get_hatch()]
    (heights,) = ({y for _, y in area.get_paths()[0].vertices} for area in striped)
    assert heights == {0, 272, 304}  # from 272 to 304; of no height after the end
