"""Tables and the picture of a study of kind c3."""

import io

import pytest
from made_study import made_study
from rich.console import Console

from c3sim.errors import InputError
from c3sim.experiments.study import Row, StudyResult, named_kind
from c3sim.kit.grid import rendered

KIND = named_kind("c3")


@pytest.fixture
def study() -> StudyResult:
    return made_study()


def lines(study) -> list[str]:
    """The rendered lines, runs of blanks as one."""
    console = Console(file=io.StringIO(), width=160)
    console.print(*rendered(KIND.tables(study)))
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def without_base(study, first: Row) -> StudyResult:
    """*study* with nothing published, the strategy base alone, unknown, and *first* as scenario."""
    unknown = Row(study.strategies["base"], mean_fraction_of_ideal=None, band=None)
    more = {"strategies": {"base": unknown}, "published": {}}
    return StudyResult({**study, **more, "scenarios": [first, *study.scenarios[1:]]})


def test_strategies_stand_beside_the_published_figures(study):
    text = lines(study)
    assert "c3 on mi300x-8: strategies over 10 scenarios" in text
    assert "base 20.0 21.0 22.0 1.12 1.20 15, 26 21.0 -1.0" in text
    assert "sp_rp 43.0 44.0 45.0 1.26 1.34 38, 49 - -" in text  # nothing published
    assert "published: arXiv 2412.14335" in text


def test_scenarios_have_their_sizes_and_the_best_strategy(study):
    row = "pair0 G-long 8192, 8192, 8192 bf16 all_gather 1.35x auto 896 MiB 6.000 3.000 6 26 24"
    assert any(line.startswith(row) for line in lines(study))


def test_what_is_unknown_is_a_dash(study):
    text = lines(without_base(study, Row(study.scenarios[0], strategies={})))
    assert "base - 21.0 22.0 1.12 1.20 - - -" in text
    assert any(line.startswith("pair0") and " - " in line for line in text)


def test_a_bar_per_strategy_with_its_band_and_the_published_mean(study):
    means, every = KIND.picture(study).axes
    assert [label.get_text() for label in means.get_xticklabels()] == list(study.strategies)
    heights = [bar.get_height() for bar in means.patches]
    assert heights == pytest.approx([20, 40, 38, 43, 65, 70, 72])
    (known,) = (line for line in means.lines if line.get_label() == "published")
    assert list(known.get_ydata()) == pytest.approx([21, 42, 41, 66, 72])
    assert len(every.texts) == len(study.strategies) * len(study.scenarios)
    # base of pair0: 0.2 - 0.03 * 4.5 = 0.065, halves to even
    assert every.texts[0].get_text() == "6"


def test_a_cell_beyond_the_ideal_has_a_colour_of_its_own(study):
    """140 % is not drawn as 100 %."""
    first = study.scenarios[0]
    passed = Row(first.strategies["base"], fraction_of_ideal=1.4)
    beyond = Row(first, strategies={**first.strategies, "base": passed})
    changed = StudyResult({**study, "scenarios": [beyond, *study.scenarios[1:]]})
    _, every = KIND.picture(changed).axes
    assert every.images[0].get_clim() == (0, 140)


def test_what_is_undefined_is_left_out(study):
    first = study.scenarios[0]
    outcome = Row(first.strategies["base"], fraction_of_ideal=None)
    changed = without_base(study, Row(first, strategies={**first.strategies, "base": outcome}))
    _, every = KIND.picture(changed).axes
    assert len(every.texts) == len(study.scenarios) - 1


def test_a_study_without_scenarios_cannot_be_drawn(study, tmp_path):
    with pytest.raises(InputError, match="no scenarios to draw"):
        KIND.picture(StudyResult({**study, "scenarios": []}), tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
