"""The answer of a study of kind c3 as a band: its arithmetic, and that it varies what it says."""

import pytest

from c3sim.errors import InputError
from c3sim.experiments.answer import Sums, mean_band, order_of
from c3sim.experiments.answer_tables import summary
from c3sim.experiments.bands import parameters_of
from c3sim.experiments.cases import workload_cases
from c3sim.experiments.draws import (
    Change,
    Draw,
    Rerun,
    Yardstick,
    conditions,
    draws_of,
    largest,
    means_of,
    of_parameters,
    replay_each,
)
from c3sim.experiments.pairs import halves_of, in_turns
from c3sim.experiments.papers.c3 import claims
from c3sim.experiments.study import Asked, Options, Row, StudyResult, run_study
from c3sim.spec.reading.loading import LoadedStudy, load_hardware, load_study
from c3sim.spec.study import Alternative, Assumption, Band, Scenario, Study

# Own means 0.2 and 0.6. Two draws shift them by 0 and -0.1, and by 0 and -0.5. Two other tables
# shift them by 0 and 0.2, and by 0 and 0.
SUMS = Sums(
    own={"base": 0.2, "conccl": 0.6},
    draws=[{"base": 0.0, "conccl": 0.0}, {"base": -0.1, "conccl": -0.5}],
    tables={"base": [0.2, 0.4], "conccl": [0.6, 0.6]},
)
HOST = Assumption(
    name="host path",
    usual="a thread per GPU",
    unknown="not said",
    source="nobody",
    alternatives=(Alternative(name="one thread", set={"workload.host.threads": "single"}),),
)
YARDSTICK = Assumption(
    name="yardstick",
    usual="collective on compute units",
    unknown="not said",
    source="nobody",
    alternatives=(
        Alternative(name="own collective", yardstick="own"),
        Alternative(name="warm GEMM", isolated={"task.gemm.inputs": "warm"}),
    ),
)


def change(name: str, kind: str = "assumption", **by: float) -> Change:
    return Change(kind=kind, name=name, value="otherwise", by=by)


def study_of(*scenarios: str, draws: int = 4, skip: tuple[str, ...] = ()) -> Study:
    return Study(
        schema_version=1,
        name="small",
        kind="c3",
        workload="c3-pair",
        strategies=("base", "conccl"),
        scenarios=tuple(
            Scenario(name=name, set={"task.gemm.m": 1024, "task.gather.size": "32 MiB"})
            for name in scenarios
        ),
        band=Band(draws=draws, skip=skip, assumptions=(HOST, YARDSTICK)),
        published={
            "mean_fraction_of_ideal": {"base": 0.21, "conccl": 0.66},
            "order": [["base"], ["conccl"]],
        },
    )


ASKED = Asked(loaded=LoadedStudy(study=study_of("one")), options=Options(n_jobs=1))


# Arithmetic


def test_every_draw_meets_every_table():
    assert SUMS.of({"base": 1.0}) == pytest.approx([0.2, 0.4, 0.1, 0.3])
    assert SUMS.of({"conccl": 1.0}) == pytest.approx([0.6, 0.6, 0.1, 0.1])


def test_without_draws_and_tables_the_band_is_the_mean():
    alone = Sums({"base": 0.2}, [], {})
    band = mean_band("base", alone, None, ())
    assert (band.low, band.median, band.high, band.inside) == (0.2, 0.2, 0.2, None)
    assert "pairs" not in band


def test_a_published_mean_is_inside_or_outside():
    """The four sums 0.1, 0.2, 0.3, 0.4 have the 5th percentile 0.1 + 0.05 x 0.3 = 0.115."""
    inside, outside = (mean_band("base", SUMS, published, ()) for published in (0.12, 0.11))
    assert inside.low == pytest.approx(0.115)
    assert (inside.inside, outside.inside) == (True, False)
    assert inside.pairs == pytest.approx((0.21, 0.39))  # of 0.2 and 0.4


def test_the_order_counts_sums_that_share_draw_and_table():
    """conccl less base is 0.4, 0.2, 0 and -0.2: above 0 in two of four sums."""
    order = order_of([["base"], ["conccl"]], SUMS, (), {"base < conccl": "measured alone"})
    assert order.holds == 0.5
    (margin,) = order.margins
    assert (margin.holds, margin.usual) == (0.5, pytest.approx(0.4))
    assert margin.evidence == "measured alone"  # of this pair; another one has none


def test_strategies_of_a_group_have_no_order():
    sums = Sums({"base": 0.1, "sp": 0.4, "rp": 0.3}, [], {})
    order = order_of([["base"], ["sp", "rp"], ["conccl"]], sums, (), {})
    assert [(each.lower, each.higher) for each in order.margins] == [("base", "sp"), ("base", "rp")]
    assert order.holds == 1
    assert order_of([["base"], ["conccl"]], sums, (), {}) is None  # nothing to compare with


def test_what_moves_a_margin_most_is_the_difference_of_its_effects():
    """The clock moves both means by far, and the margin by 0.01; the host moves it by 0.2."""
    changes = [change("clock", base=0.5, conccl=0.51), change("host", base=0.0, conccl=-0.2)]
    assert largest(changes, {"base": 1.0}).name == "clock"
    assert largest(changes, {"conccl": 1.0, "base": -1.0}).name == "host"
    assert largest([change("nothing", base=0.0)], {"base": 1.0}) is None


def test_other_tables_move_a_margin_as_one():
    """base moves by 0 or 0.2, conccl by 0: the margin by 0 or -0.2; 5th percentile -0.19."""
    low, high = SUMS.pair_changes({"conccl": {"conccl": 1.0, "base": -1.0}})
    assert (low.by["conccl"], high.by["conccl"]) == pytest.approx((-0.19, -0.01))


# Draws


def test_every_condition_has_the_same_share_of_the_draws():
    """Two conditions of the host in ten draws of a Latin hypercube: five times each."""
    (case,) = workload_cases(study_of("one"))
    draws = draws_of((), conditions([HOST], case), 10, seed=1)
    assert [bool(draw.settings) for draw in draws].count(True) == 5


def test_every_draw_is_measured_by_every_yardstick():
    (case,) = workload_cases(study_of("one"))
    for draw in draws_of((), conditions([HOST, YARDSTICK], case), 3, seed=1):
        assert [(each.own, bool(each.isolated)) for each in draw.yardsticks] == [
            (False, False),
            (True, False),
            (False, True),
        ]


def test_parameters_are_drawn_within_their_intervals_and_repeatably():
    parameters = parameters_of(load_hardware("mi300x-8"))
    draws = draws_of(parameters, (), 5, seed=3)
    assert draws == draws_of(parameters, (), 5, seed=3) != draws_of(parameters, (), 5, seed=4)
    for draw in draws:
        for parameter, (path, value) in zip(parameters, draw.settings, strict=True):
            assert path == parameter.path
            # bytes are rounded to whole ones
            assert parameter.low - 1 <= value <= parameter.high + 1


def test_an_assumption_wins_over_a_parameter():
    drawn = Draw(settings=(("gpu.clock.power_window", 0.0), ("links.latency", 1e-6)))
    fresh = Draw(settings=(("gpu.clock.power_window", 0.02),), yardsticks=(Yardstick(own=True),))
    both = fresh.over(drawn)
    assert dict(both.settings) == {"gpu.clock.power_window": 0.02, "links.latency": 1e-6}
    assert both.yardsticks == (Yardstick(own=True),)


def test_an_unknown_path_names_the_alternative():
    wrong = Assumption(
        name="clock",
        usual="",
        unknown="",
        source="",
        alternatives=(Alternative(name="fresh", set={"gpu.clok": 1}),),
    )
    with pytest.raises(InputError, match="assumption 'clock', alternative 'fresh'"):
        conditions([wrong], workload_cases(study_of("one"))[0])


def test_draws_rerun_each_pair_under_its_operations_in_turns():
    """32 and 64 MiB beside one GEMM are two pairs. Both parts together are all four cases, and
    neither has one operation alone. A study of one operation has one part.
    """
    both = study_of("one").changed(
        scenarios=tuple(
            Scenario(
                name=f"{op} of {size}",
                set={"task.gemm.m": 1024, "task.gather.size": size, "task.gather.op": op},
            )
            for op in ("all_gather", "all_to_all")
            for size in ("32 MiB", "64 MiB")
        )
    )
    cases = workload_cases(both)
    first, second = ([case.name for case in part] for part in in_turns(cases))
    assert sorted(first + second) == sorted(case.name for case in cases)
    for part in (first, second):
        assert {name.split(" ")[0] for name in part} == {"all_gather", "all_to_all"}
        assert {name[-6:] for name in part} == {"32 MiB", "64 MiB"}
    assert in_turns(cases[:2]) == [[cases[1], cases[0]]]  # the longer collective comes first
    halves = halves_of(in_turns(cases))
    assert sorted(case.name for (case,) in halves) == sorted(case.name for case in cases)
    assert len({case.name[-6:] for (case,) in halves[:2]}) == 2  # the next draw has the other pair


# Runs


@pytest.fixture(scope="module")
def rerun() -> Rerun:
    (case,) = workload_cases(study_of("one"))
    return Rerun(case=case, strategies={"base": "base", "conccl": "conccl"})


def test_one_thread_that_submits_all_copies_slows_copies_only(rerun):
    (usual,) = means_of([rerun], Draw())
    (single,) = means_of([rerun], Draw(settings=(("workload.host.threads", "single"),)))
    assert single["base"] == usual["base"]
    assert single["conccl"] < usual["conccl"]


def test_each_draw_is_measured_over_its_part(rerun):
    """Two parts, known by their strategies: three draws meet the first, the second, the first."""
    other = Rerun(case=rerun.case, strategies={"base": "base"})
    found = replay_each(
        [[rerun], [other]], [(0, Draw()), (1, Draw()), (0, Draw())], ASKED, what="draws"
    )
    both, base = {"base", "conccl"}, {"base"}
    assert [set(means) for (means,) in found] == [both, base, both]


def test_the_yardstick_changes_no_run_but_the_ideal(rerun):
    """Warm operands make the isolated GEMM shorter, so less is gained by the same wall time."""
    warm_alone = Yardstick(isolated=(("task.gemm.inputs", "warm"),))
    draw = Draw(yardsticks=(Yardstick(), warm_alone, Yardstick(own=True)))
    usual, warm, own = means_of([rerun], draw)
    assert warm["base"] < usual["base"]
    assert own["base"] == usual["base"] and own["conccl"] != usual["conccl"]


def test_the_parameter_that_matters_is_found_and_goes_to_both_ends(rerun):
    """A bf16 GEMM does no fp32 FLOP; the copies of an engine wait for the latency of a link, once
    it is long, whichever way that moves the mean. With less of it they fill the link as before.
    """
    paths = ("gpu.energy.flop.fp32", "links.latency")
    known = parameters_of(load_hardware("mi300x-8"))
    two = [each for each in known if each.path in paths]
    (usual,) = means_of([rerun], Draw())
    target = {"conccl": 1.0}
    found = of_parameters(two, [rerun], [rerun], usual, [target], ASKED)
    assert [each.name for each in found] == ["links.latency"] * 2
    shorter, longer = (each.on(target) for each in found)
    assert abs(longer) > 2 * abs(shorter)


def test_facts_are_asked_once_about_all_that_moves_a_mean(rerun):
    """Two targets that links.latency moves most: where a fact excludes it, what comes next goes to
    both ends as well.
    """
    paths = ("gpu.hbm.read_efficiency", "links.latency")
    two = [each for each in parameters_of(load_hardware("mi300x-8")) if each.path in paths]
    (usual,) = means_of([rerun], Draw())
    asked = []

    def excluding(draws):
        asked.append([name for draw in draws for name, _ in draw.settings])
        return [("a fact",) * (draw.settings[0][0] == "links.latency") for draw in draws]

    targets = [{"conccl": 1.0}, {"conccl": 1.0, "base": -0.01}]
    found = of_parameters(two, [rerun], [rerun], usual, targets, ASKED, excluding)
    assert [sorted(each) for each in asked] == [sorted(paths)]
    assert {each.name for each in found} == set(paths)


def test_values_that_are_set_are_not_drawn():
    study = study_of("one", "other", draws=2, skip=("other",))
    fixed = {"workload.host.threads": "per_gpu", "links.latency": "0.6 us"}
    found = run_study(study, Options(settings=fixed, n_jobs=1)).answer
    everything = parameters_of(load_hardware("mi300x-8"))
    assert found.drawn.parameters == len(everything) - 1
    assert [each.name for each in found.drawn.assumptions] == ["yardstick"]
    assert (found.drawn.draws + found.drawn.failed, found.drawn.skipped) == (2, ("other",))
    assert not any(each.name == "links.latency" for each in found.changes)
    assert set(found.strategies) == {"base", "conccl"}


def test_every_assumption_of_the_packaged_study_fits_its_workload_and_has_a_reason():
    study = load_study("conccl")
    case = workload_cases(study)[0]
    found = conditions(study.band.assumptions, case)
    assert [len(each) for each in found] == [
        len(assumption.alternatives) for assumption in study.band.assumptions
    ]
    assert all(each.unknown and each.source for each in study.band.assumptions)


# Claims


def test_the_band_decides_whether_a_published_mean_holds():
    """Sums of base are 0.1 to 0.4, of conccl 0.1 to 0.6; 0.21 lies inside, 0.66 outside."""
    changes = [change("links.latency", "parameter", conccl=-0.3), change("host path", conccl=-0.2)]
    published = {"base": 0.21, "conccl": 0.66}
    bands = {name: mean_band(name, SUMS, value, changes) for name, value in published.items()}
    means = {
        name: Row(mean_fraction_of_ideal=band.usual, band=[band.low, band.high])
        for name, band in bands.items()
    }
    found = StudyResult(
        strategies=means,
        published={"mean_fraction_of_ideal": published},
        answer=Row(strategies=bands),
    )
    base, conccl = claims(found)
    assert (base.holds, conccl.holds) == (True, False)
    assert conccl.decides == "links.latency: otherwise, -30.0"


def test_a_band_without_its_own_run_says_why():
    """10 % lies below a band of 12 to 15 %; 14 % inside it needs no words."""
    from c3sim.experiments.answer_tables import own_outside
    from c3sim.experiments.study import Row

    bands = {
        "base": Row(low=0.12, high=0.15, usual=0.10),
        "sp": Row(low=0.12, high=0.15, usual=0.14),
    }
    (line,) = own_outside(bands)
    assert line.startswith("base: 10.0 % as it is lies below its band")


def test_the_short_answer_names_what_would_narrow_a_band_that_cannot_tell():
    """Two bands of 40 and 44 points lack one measurement, one of 10 lacks none."""
    wide = [("sp", 0.1, ""), ("rp", 0.4, "a clock"), ("sp_rp", 0.44, "a clock")]
    margins = {"most": None, "published": 0.4, "usual": 0.5, "verdict": "inside", "inside": True}
    bands = {
        name: Row(low=0.3, high=0.3 + width, prior=[0.0, 1.0], narrow=measure, **margins)
        for name, width, measure in wide
    }
    drawn = Row(draws=8, conditioned=8, yardsticks=1, tables=0, failed=0)
    answer = Row(drawn=drawn, strategies=bands, facts=[])
    found = StudyResult(name="c3", node="mi300x-8", answer=answer)
    table = summary(found)[0]
    assert "rp, sp_rp: 40, 44 points wide; measure a clock" in table.note.splitlines()
    assert [line["before"] for line in table.rows] == ["0 to 100"] * 3
