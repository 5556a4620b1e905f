"""Pictures: cells, lines, fronts and bars at the right places, distinct not by colour alone."""

import pytest
from chart_case import TORNADO, columns, table

from c3sim.errors import InputError
from c3sim.output.pictures.draw import draw_results
from c3sim.output.results.table import make_table, select

pytestmark = pytest.mark.turns(5)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_a_heat_map_has_a_panel_per_strategy_and_a_number_per_cell():
    base, conccl, bar = draw_results(table(), value="fraction_of_ideal").axes
    assert [axes.get_title(loc="left") for axes in (base, conccl)] == ["base", "conccl"]
    assert (
        base.get_xlabel() == "dma engines count" and base.get_ylabel() == "links bandwidth (GB/s)"
    )
    assert [label.get_text() for label in base.get_yticklabels()] == ["32", "64"]
    assert bar.get_ylabel() == "fraction of ideal overlap (%)"
    assert texts(base) == ["10"] * 6  # per cent, in every cell
    # Cells along the engines, the failed point (4 engines, 32 GB/s) a cross.
    assert texts(conccl) == ["20", "20", "x", "40", "80", "80"]


def test_points_that_share_a_cell_are_said_to():
    data = {name: values * 2 for name, values in columns().items()}
    figure = draw_results(make_table(data, table().about))
    assert any("the median of up to 2 points" in text.get_text() for text in figure.texts)


def test_lines_differ_in_marker_and_dashes():
    chosen = select(table(), ["links.bandwidth=64 GB/s"])
    (axes,) = draw_results(chosen, y="fraction_of_ideal").axes
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == ["base", "conccl"]
    assert list(lines[1].get_xdata()) == [2, 4, 8] and list(lines[1].get_ydata()) == pytest.approx(
        [20, 40, 80]
    )
    for told_apart in ("get_color", "get_marker", "get_linestyle"):
        assert len({getattr(line, told_apart)() for line in lines}) == 2, told_apart
    assert "higher is better" in axes.get_ylabel() and "(%)" in axes.get_ylabel()


def test_the_pareto_front_runs_through_the_best_points():
    # conccl: energy 10 + n, fraction n / 10: more of one costs the other; base, 20 J and 10 %, is
    # never on the front.
    (axes,) = draw_results(table(), kind="pareto").axes
    (line,) = (line for line in axes.get_lines() if line.get_label() == "Pareto front")
    assert (list(line.get_xdata()), list(line.get_ydata())) == (
        pytest.approx([12, 14, 18]),
        pytest.approx([20, 40, 80]),
    )
    assert axes.get_xlabel() == "energy (J)\nlower is better"


def test_a_tornado_has_a_bar_per_parameter_the_longest_first():
    units = {"links.bandwidth": {"unit": "B/s"}, "gpu.hbm.bandwidth": {"unit": "B/s"}}
    (axes,) = draw_results(make_table(TORNADO, {"axes": units})).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "links.bandwidth",
        "gpu.hbm.bandwidth",
    ]
    # From the base of 4 ms to 4.4 at the low and 3.6 at the high end; then 4.2 and 4.1.
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.4, -0.4, 0.2, 0.1])
    assert texts(axes)[:2] == ["48.0 GB/s", "64.0 GB/s"] and "base 4 ms" in texts(axes)
    assert len({bar.get_hatch() for bar in axes.patches}) == 2


def test_no_bar_of_a_tornado_hides_another():
    """Both ends above the base: the bars lie one above the other, no value is written on them."""
    (axes,) = draw_results(make_table(TORNADO, {})).axes
    low, high = axes.patches[2:]
    assert low.get_y() + low.get_height() == pytest.approx(high.get_y())
    of_memory = axes.texts[2:4]
    # 4.2 ms at the low end: right of its bar; 4.1 at the high end: left of the base
    assert [(text.xy[0], text.get_ha()) for text in of_memory] == [
        (pytest.approx(4.2), "left"),
        (pytest.approx(4.0), "right"),
    ]


def test_a_parameter_that_moves_nothing_is_seen_in_a_tornado():
    still = {**TORNADO, "at_low": [4e-3, 4.2e-3, 1.1], "at_high": [4e-3, 4.1e-3, 1.3]}
    (axes,) = draw_results(make_table(still, {})).axes
    ends = [line for line in axes.get_lines() if list(line.get_xdata()) == [4.0, 4.0]]
    assert len([line for line in ends if line.get_linewidth() >= 2]) == 2


def test_values_on_both_sides_of_a_middle_get_a_map_with_that_middle():
    """Fractions from -20 to 80 per cent: white is 0, as far to either side."""
    data = columns()
    data["fraction_of_ideal"] = [
        None if value is None else value - 0.3 * (value < 0.2)
        for value in data["fraction_of_ideal"]
    ]
    base = draw_results(make_table(data, table().about), value="fraction_of_ideal").axes[0]
    (image,) = base.get_images()
    assert image.get_clim() == pytest.approx((-80, 80)) and image.get_cmap().name == "PuOr"
    (plain,) = draw_results(table(), value="fraction_of_ideal").axes[0].get_images()
    assert plain.get_clim() == pytest.approx((10, 80)) and plain.get_cmap().name == "cividis"


def test_a_speedup_diverges_from_one():
    data = {"speedup": [0.8, 1.3], "wall_s": [1.0, 2.0], "point": [0, 1], "error": [None, None]}
    made = make_table(data, {"outputs": {"speedup": {"unit": "x", "label": "speedup"}}})
    assert made.columns["speedup"].diverges() and not made.columns["wall_s"].diverges()


def test_a_front_is_named_at_its_ends_and_its_knee():
    """Ten points on a front with its bend at 3 J and 60 %: three names, whatever the room."""
    energies = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
    fractions = [0.1, 0.4, 0.6, 0.65, 0.68, 0.7, 0.72, 0.74, 0.76, 0.78]
    data = {
        "point": list(range(10)),
        "gpu.dma_engines.count": [float(n) for n in range(1, 11)],
        "energy_j": energies,
        "fraction_of_ideal": fractions,
        "error": [None] * 10,
    }
    (axes,) = draw_results(make_table(data, table().about), kind="pareto").axes
    named = [text for text in texts(axes) if text.startswith("dma engines count")]
    assert named == [f"dma engines count {n}" for n in (1, 3, 10)]


def test_the_output_of_a_tornado_can_be_chosen():
    (axes,) = draw_results(make_table(TORNADO, {}), value="speedup").axes
    assert axes.get_xlabel() == "speedup (x), higher is better"
    with pytest.raises(
        InputError, match="--value: unknown output 'speedpu'; did you mean 'speedup'"
    ):
        draw_results(make_table(TORNADO, {}), value="speedpu")


def test_the_header_says_where_how_many_and_what_failed():
    words = " ".join(text.get_text() for text in draw_results(table()).texts)
    assert "engines: wall time" in words
    assert "on mi300x-8, scenario pair, 12 points, 1 failed" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "suffix"), [("heatmap", "png"), ("lines", "svg"), ("pareto", "pdf")]
)
def test_the_same_results_give_the_same_bytes(tmp_path, kind, suffix):
    paths = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for path in paths:
        draw_results(table(), path, kind=kind)
    assert paths[0].read_bytes() == paths[1].read_bytes() and paths[0].stat().st_size > 5000


@pytest.mark.parametrize(("longest", "scale"), [(80e-3, "linear"), (300e-3, "log"), (3.0, "log")])
@pytest.mark.parametrize("kind", ["lines", "pareto"])
def test_every_axis_has_ticks_that_are_labelled(kind, longest, scale):
    """Wall times from 10 ms on, crowded at the low end: below a decade a logarithmic axis would
    have no label.
    """
    walls = [10e-3, 11e-3, 12e-3, 13e-3, longest]
    data = {
        "point": list(range(5)),
        "links.bandwidth": [5e9, 4e9, 3e9, 2e9, 1e9],
        "wall_s": walls,
        "energy_j": [5.0, 4.0, 3.0, 2.0, 1.0],
        "error": [None] * 5,
    }
    given = {"x": "links.bandwidth" if kind == "lines" else "energy_j", "y": "wall_s"}
    figure = draw_results(make_table(data, table().about), kind=kind, **given)
    figure.draw_without_rendering()
    axis = figure.axes[0].yaxis
    low, high = sorted(axis.get_view_interval())
    labels = [
        label.get_text()
        for tick, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        if low <= tick <= high
    ]
    assert axis.get_scale() == scale and len([label for label in labels if label]) >= 2
