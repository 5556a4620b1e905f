"""Tables of a study of kind c3."""

import io
from dataclasses import replace

import pytest
from made_study import made_study
from rich.console import Console

from c3sim.studies.c3.study import C3Result
from c3sim.studies.c3.table import scenario_table, strategy_table


@pytest.fixture
def study() -> C3Result:
    return made_study()


def lines(renderable) -> list[str]:
    """The rendered lines, runs of blanks as one."""
    console = Console(file=io.StringIO(), width=160)
    console.print(renderable)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_strategies_stand_beside_the_published_figures(study):
    text = lines(strategy_table(study))
    assert text[0] == "c3 on mi300x-8: strategies over 10 scenarios"
    assert "base 20.0 21.0 22.0 1.12 1.20 15 to 26 21.0 -1.0" in text
    assert "sp_rp 43.0 44.0 45.0 1.26 1.34 38 to 49 - -" in text  # nothing published
    assert text[-1] == "published: arXiv 2412.14335"


def test_scenarios_have_their_sizes_and_the_best_strategy(study):
    row = "pair0 G-long 8192, 8192, 8192 bf16 all_gather 896 MiB 6.000 3.000 6 26 24 30 52 56 58"
    assert f"{row} 1.35x auto" in lines(scenario_table(study))


def test_what_is_unknown_is_a_dash(study):
    base = replace(study.strategies["base"], mean_fraction_of_ideal=None, band=None)
    first, *others = study.scenarios
    changed = replace(
        study,
        published={},
        strategies={"base": base},
        scenarios=[replace(first, strategies={}), *others],
    )
    assert "base - 21.0 22.0 1.12 1.20 - - -" in lines(strategy_table(changed))
    assert any(line.endswith("6.000 3.000 - -") for line in lines(scenario_table(changed)))
