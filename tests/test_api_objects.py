"""Results of the interface's functions: frames that hold what the objects hold, and texts of three
lines, however many tasks there are.
"""

import re
from typing import get_args

import pytest
from cli_case import FEW_OPEN
from kineto_case import MadeTrace
from places import ROOT

import c3sim
from c3sim.api import PackagedIteration
from c3sim.experiments.outputs import FIELDS, TASK_FIELDS
from c3sim.spec.reading import library
from c3sim.spec.reading.loading import parse_workload

PAIR = "gemm-beside-all-gather"
STUDY = """\
schema: 1
name: s
node: teaching-4
workload: gemm-beside-all-gather
strategies: [base, conccl]
outputs: [wall_s, "tasks.*.slowdown"]
axes:
  links.bandwidth: [5 GB/s, 10 GB/s]
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(STUDY)
    return "s.yaml"


def lines(thing):
    return repr(thing).splitlines()


def test_a_result_is_a_row_per_task():
    result = c3sim.run(PAIR, strategy="sp")
    frame = result.to_frame().set_index("task")
    assert list(frame.index) == list(result.tasks)
    for name, task in result.tasks.items():
        assert frame.loc[name, "kind"] == task.kind
        assert all(frame.loc[name, field] == getattr(task, field) for field in TASK_FIELDS)
    assert (
        len(lines(result)) == 3 and lines(result)[0] == f"Result: {PAIR} on mi300x-8, strategy sp"
    )


def test_names_of_before_warn_and_say_where_the_figure_is():
    result = c3sim.run(PAIR, strategy="sp")
    with pytest.warns(DeprecationWarning, match=r"result\.power\.average_w now"):
        assert result.average_power_w == result.power.average_w > 0
    with pytest.warns(DeprecationWarning, match=r"result\.ranks\.count"):
        assert len(range(result.ranks)) == result.ranks.count == 8
    with pytest.raises(AttributeError, match="no attribute 'wall'"):
        _ = result.wall
    assert result.to_dict()["own_fraction"] == result.overlap.own_fraction


def test_energy_and_draws_are_frames_too():
    """Shares add up to 1; ranks in step begin in one way only, which is no draw."""
    result = c3sim.run(PAIR, strategy="sp")
    frame = result.power.to_frame()
    assert frame["energy_j"].sum() == pytest.approx(result.energy_j)
    assert frame["share"].sum() == pytest.approx(1)
    assert result.ranks.to_frame().empty and "late_s" in result.ranks.to_frame()


def test_a_comparison_is_a_row_per_strategy_and_a_list_as_before():
    results = c3sim.compare(PAIR, strategies="base,conccl")
    frame = results.to_frame().set_index("strategy")
    assert list(frame.index) == [result.strategy for result in results] == ["base", "conccl"]
    for result in results:
        row = frame.loc[result.strategy]
        assert all(row[field] == result.by_key()[field] for field in FIELDS)
        assert row["tasks.gemm.slowdown"] == result.tasks["gemm"].slowdown
        assert results.to_dict()[result.strategy] == result.to_dict()
    assert len(lines(results)) == 3 and "shortest conccl" in lines(results)[1]


def test_parts_of_an_explanation_add_up_in_its_frame():
    frame = c3sim.explain(PAIR, strategy="sp").to_frame()
    for name in ("gemm", "gather"):
        parts = frame[frame.task == name].set_index("part").seconds
        assert parts.drop("together").sum() == pytest.approx(parts["together"], rel=1e-12)


def test_the_text_of_an_explanation_names_the_largest_causes():
    explanation = c3sim.explain(PAIR, strategy="sp")
    shares = {f"{c} of {n}": s for n, t in explanation.tasks.items() for c, s in t.causes.items()}
    assert len(lines(explanation)) == 3
    assert max(shares, key=shares.get) in lines(explanation)[2]


def test_a_sweep_is_a_row_per_point(study):
    seen = []
    swept = c3sim.sweep(study, jobs=1, progress=lambda *counts: seen.append(counts))
    frame = swept.to_frame()
    assert list(frame["links.bandwidth"]) == [5e9, 5e9, 10e9, 10e9]
    assert list(frame["strategy"]) == ["base", "conccl"] * 2
    one = c3sim.run(PAIR, node="teaching-4", strategy="conccl", set={"links.bandwidth": "10 GB/s"})
    assert frame.wall_s[3] == one.wall_s
    assert len(lines(swept)) == 3 and "4 points, 0 failed, in sweep-s" in lines(swept)[0]
    assert seen[-1] == (4, 4, 0)


def test_a_sweep_goes_on_unless_it_is_fresh(study, tmp_path):
    c3sim.sweep(study, tmp_path / "out", jobs=1)
    assert c3sim.sweep(study, tmp_path / "out", jobs=1).finished_before == 4
    assert c3sim.sweep(study, "out", jobs=1, fresh=True).finished_before == 0
    other = c3sim.sweep(study, "other", node="mi300x-8", jobs=1)
    assert "on mi300x-8" in repr(other)


def test_the_texts_stay_short_with_many_tasks():
    tasks = {f"t{i}": {"kind": "gemm", "m": 256, "n": 256, "k": 256} for i in range(40)}
    workload = parse_workload({"schema": 1, "name": "many", "tasks": tasks})
    result = c3sim.run(workload, node="teaching-4")
    assert len(lines(result)) == 3 and max(map(len, lines(result))) < 120
    assert lines(result)[2].endswith("and 34 more")


def test_settings_may_be_a_file(tmp_path):
    (tmp_path / "s.yaml").write_text("links: {bandwidth: 10 GB/s}\n")
    by_hand = c3sim.run(PAIR, set={"links.bandwidth": "10 GB/s"})
    for given in (tmp_path / "s.yaml", str(tmp_path / "s.yaml")):
        assert c3sim.run(PAIR, set=given) == by_hand


def test_the_examples_of_the_page_run(capsys, tmp_path, monkeypatch):
    page = ROOT / "docs" / "api.md"
    examples = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in examples:
        exec(example, names)
    assert (tmp_path / "timeline.png").stat().st_size > 1000
    assert len(capsys.readouterr().out.splitlines()) > 10
    assert list(names["walls"].values()) == sorted(names["walls"].values(), reverse=True)


def quantity(value, unit):
    import pint  # 0.8 s, for which no other worker has to wait

    return pint.UnitRegistry().Quantity(value, unit)


def wall(bandwidth):
    return c3sim.run(PAIR, set={"links.bandwidth": bandwidth}).wall_s


def test_settings_take_plain_si_numbers_texts_and_quantities_of_pint():
    assert wall(60e9) == wall("60 GB/s") == wall(quantity(60, "GB/s")) != c3sim.run(PAIR).wall_s


def test_a_quantity_of_another_dimension_is_refused_by_path():
    with pytest.raises(c3sim.InputError, match="60 second does not convert to B/s"):
        wall(quantity(60, "second"))


def test_plot_writes_the_picture_where_it_is_told(tmp_path):
    c3sim.run("gemm-beside-all-gather").plot(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text().startswith("<?xml")


def test_a_type_checker_knows_every_packaged_iteration():
    """``c3sim.run("llama3-8b-training").mfu``: its names stand in a Literal."""
    assert set(get_args(PackagedIteration)) == set(library.names("iteration"))


def test_the_other_questions_from_python(tmp_path, few_draws):
    """Each has the figures of its command as a DataFrame."""
    (tmp_path / "few.yaml").write_text(FEW_OPEN, encoding="utf-8")
    asked = {"node": tmp_path / "few.yaml", "output": "wall_s", "jobs": 1}
    few = {"samples": 2, "top": 1, "band_samples": 2}
    moved = c3sim.sensitivity(PAIR, **asked, **few).to_frame()
    assert len(moved) > 1 and (moved["swing"].diff().dropna() <= 0).all()
    verdict = c3sim.validate(suite="babelstream", jobs=1)
    assert str(verdict).startswith("Verdict: pass; ")
    judged = verdict.to_frame()
    assert {name for name, _ in judged.index} == {"babelstream"}
    (tmp_path / "made.json").write_text(MadeTrace.short().text(), encoding="utf-8")
    found = c3sim.import_trace(tmp_path / "made.json", node="h200-2")
    assert c3sim.run(found.workload, node="h200-2").wall_s == pytest.approx(
        1e-6 * found.replay.wall, rel=0.05
    )
    assert str(found).startswith("8 tasks of ")
    kernels = found.to_frame()  # eight of 46 us
    assert list(kernels["trace_s"]) == pytest.approx([46e-6] * 8)
    advice = c3sim.advise(PAIR, node="teaching-4")
    assert str(advice).startswith(f"{PAIR} on teaching-4\n")
    advised = advice.to_frame()
    assert {"knob", "gain", "low", "high", "verdict"} <= {*advised} and "order" in {*advised.knob}


def test_what_changed_prints_as_the_table_of_the_command(monkeypatch):
    """In a notebook too, where rich would show it at once, and with colours."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    before, after = (c3sim.run(PAIR, strategy=name) for name in ("sp", "conccl"))
    text = str(c3sim.diff(before, after)).splitlines()
    assert text[0] == f"against: {PAIR}: sp -> conccl"
    assert f"{1e3 * before.wall_s:.3f}" in next(line for line in text if line.startswith("wall"))
    assert max(map(len, text)) <= 80 and len(text) < 20


def test_an_iteration_of_ones_own_is_told_by_its_class():
    """``assert isinstance(result, c3sim.IterationResult)`` tells a type checker of ``mfu``."""
    step = {"kind": "iteration", "model": "llama-3-8b", "phase": "prefill", "tokens": 512}
    result = c3sim.run(step, node="h200-1", set={"layers": 1})
    assert isinstance(result, c3sim.IterationResult) and 0 < result.mfu < 1
