"""The picture of a study of kind c3: what is drawn, and what cannot be."""

from dataclasses import replace

import pytest
from made_study import made_study

from c3sim.errors import InputError
from c3sim.studies.c3 import KIND
from c3sim.studies.c3.study import C3Result


@pytest.fixture
def study() -> C3Result:
    return made_study()


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_a_bar_per_strategy_and_how_far_it_is_off(study):
    means, _ = KIND.picture(study).axes
    assert [label.get_text() for label in means.get_xticklabels()] == list(study.strategies)
    assert [bar.get_height() for bar in means.patches] == pytest.approx(
        [20, 40, 38, 43, 65, 70, 72]
    )
    assert texts(means)[:2] == ["20.0  (-1.0)", "40.0  (-2.0)"]  # published: 21 and 42 %
    assert texts(means)[3] == "43.0"  # nothing published


def test_a_cell_per_scenario_and_strategy(study):
    _, every = KIND.picture(study).axes
    assert len(every.texts) == len(study.strategies) * len(study.scenarios)
    assert texts(every)[0] == "6"  # base of pair0: 0.2 - 0.03 * 4.5 = 0.065, halves to even


def test_a_cell_beyond_the_ideal_has_a_colour_of_its_own_and_the_yardstick_is_said(study):
    """140 % is not drawn as 100 %, and no line says that 100 % is the most there can be."""
    first, *others = study.scenarios
    passed = replace(first.strategies["base"], fraction_of_ideal=1.4)
    beyond = replace(first, strategies={**first.strategies, "base": passed})
    picture = KIND.picture(replace(study, scenarios=[beyond, *others]))
    _, every = picture.axes
    assert every.images[0].get_clim() == (0, 140)
    said = " ".join(text.get_text() for text in picture.texts)
    assert "collectives on compute units" in said and "hidden altogether" not in said


def test_what_is_undefined_is_left_out(study):
    unknown = replace(study.strategies["base"], mean_fraction_of_ideal=None, band=None)
    first, *others = study.scenarios
    outcome = replace(first.strategies["base"], fraction_of_ideal=None)
    changed = replace(
        study,
        published={},
        strategies={**study.strategies, "base": unknown},
        scenarios=[replace(first, strategies={**first.strategies, "base": outcome}), *others],
    )
    means, every = KIND.picture(changed).axes
    assert texts(means)[0] == "-"
    assert len(every.texts) == len(study.strategies) * len(study.scenarios) - 1


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_study_gives_the_same_bytes(study, tmp_path, suffix):
    paths = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for path in paths:
        KIND.picture(study, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_study_without_scenarios_cannot_be_drawn(study, tmp_path):
    with pytest.raises(InputError, match="no scenarios to draw"):
        KIND.picture(replace(study, scenarios=[]), tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_the_best_speedup_stands_below_each_strategy(study):
    means, _ = KIND.picture(study).axes
    assert texts(means)[-7:-5] == [
        "best 1.20x",
        "best 1.32x",
    ]  # 1 + 0.6 * (0.2 + 0.135), 1 + 0.6 * (0.4 + 0.135)
