"""The picture that suits the data, and data that cannot be drawn."""

import pandas as pd
import pytest
from chart_case import columns, table

from c3sim.errors import InputError
from c3sim.output.pictures.kind import plan_picture
from c3sim.output.results.columns import column_of
from c3sim.output.results.table import front, make_table, select


def sides(found):
    return found.kind, found.x.name, found.y.name


def test_two_axes_that_vary_make_a_heat_map():
    found = plan_picture(table())
    assert sides(found) == ("heatmap", "gpu.dma_engines.count", "links.bandwidth")
    assert found.value.name == "wall_s" and found.by.name == "strategy"


def test_along_a_workload_a_fraction_of_ideal_is_shown():
    """Hardware moves the isolated times that an ideal is made of, so there a time is shown."""
    data = columns()
    data["task.gather.channels"] = data.pop("gpu.dma_engines.count")
    axes = {
        "task.gather.channels": {"unit": "", "label": "channels"},
        "links.bandwidth": {"unit": "B/s", "label": "links bandwidth"},
    }
    one = make_table(data, {**table().about, "axes": axes})
    found = plan_picture(select(one, ["links.bandwidth=32 GB/s"]))
    assert sides(found) == ("lines", "task.gather.channels", "fraction_of_ideal")


def test_one_axis_that_varies_makes_lines():
    found = plan_picture(select(table(), ["links.bandwidth=32 GB/s"]))
    assert (
        sides(found) == ("lines", "gpu.dma_engines.count", "wall_s") and found.by.name == "strategy"
    )


def test_objectives_make_a_pareto_picture_with_the_cost_along_x():
    found = plan_picture(
        table(objectives={"fraction_of_ideal": "maximise", "energy_j": "minimise"})
    )
    assert sides(found) == ("pareto", "energy_j", "fraction_of_ideal")


def test_two_outputs_asked_for_make_one_too():
    assert sides(plan_picture(table(), x="energy_j", y="wall_s")) == (
        "pareto",
        "energy_j",
        "wall_s",
    )


def test_values_drawn_at_random_make_no_heat_map():
    count = 300
    data = {
        "point": list(range(count)),
        "gpu.dma_engines.count": [float(row % 7) for row in range(count)],
        "links.bandwidth": [1e9 + row * 1e6 for row in range(count)],
        "wall_s": [1e-3 + row * 1e-6 for row in range(count)],
        "energy_j": [10.0 - row * 1e-3 for row in range(count)],
    }
    made = make_table(data, table().about)
    assert plan_picture(made).kind == "pareto"
    with pytest.raises(
        InputError,
        match=r"--y: links\.bandwidth has 300 values; a side of a heat map has at most 100",
    ):
        plan_picture(made, "heatmap")


def test_what_is_asked_for_is_drawn():
    found = plan_picture(table(), "lines", "links.bandwidth", "wall_s", by="gpu.dma_engines.count")
    assert (
        sides(found) == ("lines", "links.bandwidth", "wall_s")
        and found.by.name == "gpu.dma_engines.count"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "heatmpa"}, "--kind: unknown kind 'heatmpa'; did you mean 'heatmap'"),
        (
            {"x": "links.bandwith"},
            "--x: unknown column 'links.bandwith'; did you mean 'links.bandwidth'",
        ),
        ({"kind": "heatmap", "x": "wall_s"}, "--x: wall_s is an output"),
        (
            {"kind": "lines", "y": "strategy"},
            "--y: strategy is no output with numbers; allowed: wall_s, ",
        ),
        ({"kind": "tornado"}, "needs a file of 'c3sim sensitivity'"),
        ({"kind": "lines", "value": "wall_s"}, "only a heat map has"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(options, message):
    with pytest.raises(InputError, match=message):
        plan_picture(table(), **options)


def test_nothing_that_varies_and_nothing_that_ran():
    with pytest.raises(InputError, match="nothing varies here"):
        plan_picture(
            select(table(), ["links.bandwidth=32 GB/s", "strategy=base", "gpu.dma_engines.count=2"])
        )
    data = columns() | {name: [None] * 12 for name in ("wall_s", "fraction_of_ideal", "energy_j")}
    with pytest.raises(InputError, match="outputs: every point failed, the first with: deadlock"):
        plan_picture(make_table(data, table().about))


def test_the_front_is_what_no_point_beats():
    # Costs 1 2 3 3 4, values 5 4 6 7 7: 4 at cost 2 loses to 5 at 1, 6 to 7 at the same cost, 7 at
    # 4 to 7 at 3.
    costs, values = [1, 2, 3, 3, 4, None], [5, 4, 6, 7, 7, 9]

    def best(x: str, y: str) -> list[int]:
        ways = zip((costs, values), (x, y), strict=True)
        return front(*(column_of("", pd.Series(each), {}, better=way) for each, way in ways))

    assert best("lower", "higher") == [0, 3]
    assert best("lower", "lower") == [0, 1]
    # More of both: 7 at cost 4 beats all.
    assert best("higher", "higher") == [4]
