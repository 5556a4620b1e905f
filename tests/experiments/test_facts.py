"""Isolated facts that weigh draws: their arithmetic, and that they exclude a latency of 2 us."""

import math

import pytest

from c3sim.experiments.bands import parameters_of
from c3sim.experiments.cases import workload_cases
from c3sim.experiments.draws import Draw, Drawing
from c3sim.experiments.facts import (
    FAR,
    WHOLE,
    Screened,
    conditioned,
    distance,
    excluding,
    screen,
    screened_by,
    values_of,
)
from c3sim.experiments.study import Asked, Options, run_study
from c3sim.spec.reading.loading import LoadedStudy, load_hardware
from c3sim.spec.study import Band, Fact, Scenario, Study

ENGINES = {"task.gather.size": "2 GiB", "task.gather.backend": "dma"}


def ratio(least: float | None, most: float | None, error: float = 0.1, **fields: object) -> Fact:
    known = {"name": "a ratio", "source": "nobody", "task": "gather", "over": {}}
    return Fact(**{**known, "ratio": (least, most), "error": error, **fields})


#: An all-gather of 2 GiB by engines of eight MI300X: suite dma_all_gather.
GATHER = Fact(
    name="gather",
    source="suite dma_all_gather",
    task="gather",
    set=ENGINES,
    time=5.813e-3,
    error=0.03,
)
STUDY = Study(
    schema_version=1,
    name="small",
    kind="c3",
    workload="c3-pair",
    strategies=("base", "conccl"),
    scenarios=(Scenario(name="one", set={"task.gemm.m": 1024, "task.gather.size": "32 MiB"}),),
    band=Band(draws=2, screened=6, facts=(GATHER,)),
    published={"mean_fraction_of_ideal": {"base": 0.21, "conccl": 0.66}},
)
ASKED = Asked(loaded=LoadedStudy(study=STUDY), options=Options(n_jobs=1))
CASES = workload_cases(STUDY)
ONE = {"one": CASES[0]}


# Arithmetic


def test_distance_is_in_stated_errors_of_the_logarithm():
    """ln(2 e^0.1 / 2) / 0.1 = 1; between two ends nothing is off."""
    point, span = ratio(2, 2), ratio(1, 2)
    assert distance(point, 2 * math.exp(0.1)) == pytest.approx(1)
    assert distance(point, 2 * math.exp(-0.3)) == pytest.approx(-3)
    assert [distance(span, value) for value in (1, 1.5, 2)] == [0, 0, 0]
    assert distance(span, math.exp(-0.2)) == pytest.approx(-2)
    assert distance(ratio(None, 2), 0.01) == 0 == distance(ratio(2, None), 100)


def test_a_draw_weighs_by_its_squared_distances():
    """Distances (0, 0) and (2, 0): weights 1 and e^-2, so 1 / (1 + e^-2) = 0.88 of the first."""
    off = math.exp(0.2)
    found = Screened([ratio(1, 1), ratio(1, 1)], [Draw(), Draw()], [(1, 1), (off, 1)])
    assert found.weights() == pytest.approx([0.8808, 0.1192], abs=1e-4)
    assert found.drawn(8) == [0] * 7 + [1]  # places 1/16, 3/16 ...: the last, 15/16, is beyond 0.88
    assert found.effective() == pytest.approx(1 / (0.8808**2 + 0.1192**2), abs=1e-3)


def test_a_fact_excludes_draws_more_than_two_errors_away():
    """1, e^0.15 and e^0.3 are 0, 1.5 and 3 errors away."""
    values = [(1.0,), (math.exp(0.15),), (math.exp(0.3),)]
    found = Screened([ratio(1, 1)], [Draw()] * 3, values)
    assert found.excluded_share(0) == pytest.approx(1 / 3)
    assert excluding(found.facts, values[2], values[0]) == ("a ratio",)
    assert excluding(found.facts, values[2], values[2]) == ()  # no farther than as run


def test_a_fact_that_no_draw_comes_near_weighs_nothing():
    found = Screened([ratio(1, 1), ratio(9, 9)], [Draw()] * 2, [(1, 1), (1, 1.5)])
    assert (found.weighs(0), found.weighs(1)) == (True, False)
    assert found.weights() == [0.5, 0.5]
    assert [row.weighs for row in found.rows((1, 1))] == [True, False]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"time": 1e-3}, "time or ratio"),
        ({"over": None}, "belong together"),
        ({"fewer": 8}, "both divide"),
        ({"ratio": (None, None)}, "an end of its ratio"),
    ],
)
def test_a_fact_is_one_time_or_one_ratio(fields, message):
    with pytest.raises(ValueError, match=message):
        ratio(
            **{"least": 1, "most": 2, **fields}
            if "ratio" not in fields
            else {"least": None, "most": None}
        )


# Isolated runs


def test_a_record_knows_its_own_host_and_a_run_of_the_study_does_not():
    """One thread that submits all copies slows small gathers by engines, 56 copies instead of 7."""
    small = {**ENGINES, "task.gather.size": "1 MiB"}
    facts = [GATHER.changed(set=small, of=of) for of in ("record", "study")]
    usual = values_of(facts, ONE, Draw())
    single = values_of(facts, ONE, Draw(settings=(("workload.host.threads", "single"),)))
    assert single[0] == usual[0] == usual[1] < single[1]


def test_a_gemm_with_fewer_units_takes_longer_than_with_all():
    """A quarter of the units of a full grid: at least as long, at most 4/3 and a round of tiles."""
    fact = ratio(1, 2, task="gemm", over=None, fewer=76)
    (found,) = values_of([fact], ONE, Draw())
    assert 1 <= found < 2


def test_draws_that_agree_have_no_long_latency():
    """100 kB in flight over 2 us more are 30 GB/s, two thirds of a link: 5.8 ms exclude it."""
    drawing = _drawing("links.latency")
    rows = list(drawing.rows(12, 1))
    draws = [drawing.at(row) for row in rows]
    screened = Screened([GATHER], draws, screen([GATHER], CASES, draws, ASKED))
    assert 0.1 < screened.excluded_share(0) < 0.9
    agreeing = conditioned(screened, rows, drawing, CASES, 4, ASKED)
    drawn = [draw.settings[0][1] for draw in draws]
    assert max(drawn) > 1.8e-6 > 1.4e-6 > max(draw.settings[0][1] for draw in agreeing)
    assert agreeing == conditioned(screened, rows, drawing, CASES, 4, ASKED)


def test_draws_far_from_facts_are_asked_no_further():
    """Behind the first WHOLE, those that are left out weigh less than e^-8 of the best; all others
    have the values and, but for that, the weights that they have when all are asked everything.
    """
    drawing = _drawing("links.latency")
    draws = [drawing.at(row) for row in drawing.rows(WHOLE + 16, 1)]
    facts = [GATHER, GATHER.changed(time=1.0)]  # which nothing comes near
    every = Screened(facts, draws, screen(facts, CASES, draws, ASKED))
    usual, some, kept = screened_by(facts, CASES, draws, ASKED)
    assert usual == screen(facts, CASES, [Draw()], ASKED)[0]
    assert set(range(WHOLE)) <= set(kept) and WHOLE < len(kept) < len(draws)
    weights, most = every.weights(), max(every.weights())
    left_out = set(range(len(draws))) - set(kept)
    assert all(weights[number] < math.exp(-FAR) * most for number in left_out)
    assert some.weights() == pytest.approx([weights[n] for n in kept], rel=0.01, abs=1e-9)
    assert [list(each) for each in some.values] == [list(every.values[n]) for n in kept]
    first = Screened(facts, draws[:WHOLE], every.values[:WHOLE])
    assert some.excluded_share(0) == first.excluded_share(0)


def test_one_more_parameter_to_draw_moves_no_other():
    """The gather by engines reads nothing of a library of GEMMs."""
    found = []
    for names in (("links.latency",), ("gpu.gemm_libraries.triton.prologue", "links.latency")):
        drawing = _drawing(*names)
        rows = list(drawing.rows(6, 1))
        draws = [drawing.at(row) for row in rows]
        screened = Screened([GATHER], draws, screen([GATHER], CASES, draws, ASKED))
        moved = conditioned(screened, rows, drawing, CASES, 2, ASKED)
        found.append([dict(draw.settings)["links.latency"] for draw in moved])
    assert found[0] == found[1]


def _drawing(*paths: str) -> Drawing:
    known = parameters_of(load_hardware("mi300x-8"))
    return Drawing([each for each in known if each.path in paths], ())


def test_a_study_shows_both_bands_and_what_each_fact_excludes():
    found = run_study(STUDY, Options(n_jobs=1)).to_dict()
    for means in found["strategies"].values():
        assert len(means["band"]) == len(means["prior_band"]) == 2
    (fact,) = found["facts"]
    assert (fact["fact"], fact["published"]) == ("gather", [5.813e-3, 5.813e-3])
    assert 0 <= fact["excluded_share"] <= 1
    for row in found["answer"]["lost"]:  # the identity of lost.py
        lost = sum(row[part] for part in ("waiting", "memory", "links", "clock", "together"))
        assert row["fraction"] == pytest.approx(1 + row["alone"] - lost)
