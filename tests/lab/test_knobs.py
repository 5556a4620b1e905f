"""The sliders of every packaged workload and machine lead somewhere."""

from dataclasses import replace

import pytest
import yaml

import c3sim
from c3sim.lab import desk, runs
from c3sim.lab.bench import Overtaken
from c3sim.lab.choice import Choice
from c3sim.lab.knobs import RESERVED
from c3sim.simulation.runs import forget
from c3sim.spec.reading import library
from c3sim.spec.reading.paths import get_value, set_value

pytestmark = pytest.mark.turns(5)

SIZE = "task.gather.size"


@pytest.mark.parametrize("name", library.names("workload"))
def test_every_slider_stands_at_the_file_and_every_place_can_be_set(name):
    choice = Choice(workload=name)
    model, node = runs.model_of(choice), runs.node_of(choice)
    for knob in runs.knobs(choice):
        assert knob.values[knob.nearest(knob.base)] == knob.base, knob.name
        assert knob.text(knob.base) is None
        assert all(isinstance(knob.shown(value), str) for value in knob.values), knob.name
        for value in (knob.values[0], knob.values[-1]):
            if (text := knob.text(value)) is not None:
                changed = set_value(node, model, knob.path, text)
                assert get_value(*changed, knob.path) == value, knob.name


@pytest.mark.parametrize("name", library.names("node"))
def test_a_machine_has_sliders_for_links_engines_memory_and_clock(name):
    paths = {knob.path for knob in runs.knobs(Choice(node=name))}
    assert {"links.bandwidth", "gpu.dma_engines.count", "gpu.hbm.bandwidth"} <= paths
    assert {"gpu.clock.power_limit", "gpu.l2.capacity"} <= paths
    has_cache = runs.node_of(Choice(node=name)).gpu.memory_side_cache is not None
    assert ("gpu.memory_side_cache.capacity" in paths) is has_cache


def test_reserved_units_are_a_part_of_the_strategy():
    choice = Choice(strategy="rp:32")
    (knob,) = (each for each in runs.knobs(choice) if each.path == RESERVED)
    assert runs.value_now(choice, knob) == 32
    assert 32 in knob.values and knob.values[0] is None  # the best of them
    assert all(knob.path != RESERVED for knob in runs.knobs(Choice(strategy="sp")))


def test_a_value_between_the_places_is_shown_as_it_is():
    choice = Choice(settings={"links.bandwidth": "50 GB/s"})
    knob = next(each for each in runs.knobs(choice) if each.path == "links.bandwidth")
    value = runs.value_now(choice, knob)
    assert value == 50e9 and knob.shown(value) == "50.0 GB/s"
    assert knob.values[knob.nearest(value)] == pytest.approx(48.5e9)


def test_many_tasks_share_sliders_by_kind():
    paths = [knob.path for knob in runs.knobs(Choice(workload="gemms-wait-for-chunks"))]
    assert "tasks[kind=gemm].m" in paths and "task.gather.size" not in paths


def test_work_in_pieces_has_a_slider_for_its_pieces():
    choice = Choice(workload="gemm-behind-all-gather-in-pieces")
    knob = next(each for each in runs.knobs(choice) if each.path == "workload.schedule.pieces")
    assert {1, 2, 64} <= set(knob.values)
    walls = {
        c3sim.run(
            choice.workload, set={knob.path: knob.text(value)} if value != knob.base else {}
        ).wall_s
        for value in (1, 4, 16)
    }
    assert len(walls) == 3


def test_a_run_says_the_same_as_the_command_line_and_a_mistake_is_said():
    choice = Choice(strategy="conccl", settings={"task.gather.size": "64 MiB"})
    outcome = runs.run_choice(choice)
    same = c3sim.run(choice.workload, strategy="conccl", set=choice.settings)
    assert outcome.result.wall_s == same.wall_s and outcome.run["tracks"]
    wrong = runs.run_choice(Choice(settings={"task.gather.sise": "1 MiB"}))
    assert wrong.result is None and "did you mean 'task.gather.size'" in wrong.problem


def test_it_warns_outside_of_what_the_model_was_checked_on():
    assert runs.run_choice(Choice()).warnings == []  # its gather was measured alone
    outside = runs.run_choice(
        Choice(settings={"links.bandwidth": "200 GB/s", "task.gather.size": "8 GiB"})
    )
    assert any("outside the calibrated domain" in text for text in outside.warnings)
    assert any("beyond what the node file vouches for" in text for text in outside.warnings)


def test_a_band_ends_as_soon_as_it_is_overtaken():
    told = []

    def watch(what, done, total):
        told.append((what, done, total))
        if done > 2:
            raise Overtaken

    with pytest.raises(Overtaken):
        runs.band_of(Choice(), watch)
    assert told[0] == ("band", 0, 64) and told[-1][1] < 10


def test_an_iteration_has_its_classes_and_sliders():
    choice = Choice(workload="llama3-8b-training")
    found = {knob.path: knob for knob in runs.knobs(choice)}
    channels = "tasks[kind=collective].channels"
    assert {"batch", "tokens", "parallel.prefetch", channels, "links.bandwidth"} <= set(found)
    assert "parallel.prefetch" in runs.all_paths(choice)
    changed = choice.setting("parallel.prefetch", "0").setting(channels, "8")
    assert runs.value_now(changed, found["parallel.prefetch"]) == 0
    assert runs.value_now(changed, found[channels]) == 8
    outcome = runs.run_choice(Choice(workload="llama3-70b-decode").setting("layers", "2"))
    assert any(name == "communication" for name, *_ in runs.classes_of(outcome.result))
    rows = {row["name"]: row["now"] for row in desk.table(outcome.result, None, None)}
    assert rows["mfu"] == f"{100 * outcome.result.mfu:.1f} %" and "GiB" in rows["memory_bytes"]


def test_an_iteration_has_causes_as_on_the_command_line_and_a_band():
    """Causes of the whole, and of each operator class; every run behind them is told, where none is
    remembered.
    """
    forget()
    choice, told = Choice(workload="llama3-70b-decode").setting("layers", "2"), []
    accounts = runs.explain_choice(choice, lambda *what: told.append(what))
    same = c3sim.explain(choice.workload, set=choice.settings).to_dict()["parts"]
    assert accounts.tasks == {} and accounts.parts == same
    dones, totals = zip(*((done, total) for _, done, total in told), strict=True)
    assert dones == tuple(range(1, len(told) + 1)) and totals[-1] == len(told)
    band = runs.band_of(choice, samples=3).outputs
    wall = c3sim.run(choice.workload, set=choice.settings).wall_s
    assert 0.5 * wall < band["wall_s"]["p5"] <= band["wall_s"]["p95"] < 2 * wall
    assert {"mfu", "exposed_s"} <= set(band)


def test_the_band_is_that_of_what_is_chosen():
    """One band after another, in the process of the laboratory: a quarter of the bytes, a band
    around a shorter time. Once it was that of the first choice.
    """
    walls = [
        runs.band_of(choice, samples=8).outputs["wall_s"]["median"]
        for choice in (Choice(strategy="sp"), Choice(strategy="sp").setting(SIZE, "224 MiB"))
    ]
    assert walls[1] < 0.8 * walls[0]


def test_many_tasks_are_explained_as_a_whole(tmp_path):
    """A trace has hundreds of kernels: a table of each would be a wall."""
    tasks = {f"k{n}": c3sim.gemm(1024, 1024, 1024, stream=f"s{n % 2}") for n in range(14)}
    file = tmp_path / "many.yaml"
    file.write_text(yaml.safe_dump({"schema": 1, "name": "many", "tasks": tasks}), encoding="utf-8")
    accounts = runs.explain_choice(Choice(workload=str(file)))
    assert accounts.tasks == {} and "wall" in accounts.parts
    few = runs.explain_choice(Choice())
    assert set(few.tasks) == {"gemm", "gather"} and few.parts == {}


def test_what_takes_minutes_is_left_to_the_command_line():
    wrong = runs.run_choice(
        Choice(settings={"task.gather.chunks": "100000", "workload.host.release": "host"})
    )
    assert wrong.result is None and "s; run it with: c3sim run" in wrong.problem


def test_causes_and_band_of_what_is_slow_come_later_or_on_the_command_line():
    quick = runs.run_choice(Choice())
    assert quick.at_once and quick.elsewhere == []
    later = replace(quick, effort=1.0)
    assert not later.at_once and later.elsewhere == []
    (band,) = replace(quick, effort=10.0).elsewhere
    assert "c3sim run gemm-beside-all-gather" in band and band.endswith("--uncertainty")
    causes, _ = replace(quick, effort=20.0).elsewhere
    assert "c3sim explain gemm-beside-all-gather" in causes


def test_a_machine_without_intervals_says_why_there_is_no_band():
    band, why = runs.band_or_why(Choice(node="teaching-4"))
    assert band is None and "no parameter of teaching-4 has an interval" in why


def test_a_figure_outside_its_band_says_why():
    """As the page has it below its figures: the label, and what sets the run apart."""
    now = runs.run_choice(Choice(strategy="sp"))
    keys = desk.data_of(now, None, runs.band_of(now.choice), None, None)["keys"]
    (line,) = [each for each in keys if each.startswith("fraction of ideal: the prediction")]
    assert "lies outside 5 % to 95 % of the samples" in line
