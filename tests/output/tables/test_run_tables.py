"""Tables say every number with its unit, show names as they are, and survive any width."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from c3sim.kit.layout import show
from c3sim.kit.step import folds
from c3sim.output.tables import run as tables
from c3sim.result import OverlapResult, PowerResult, RankResult


def lines(renderable, width=160):
    """The rendered lines, runs of blanks as one."""
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_run_has_the_whole_then_a_row_per_task(result):
    text = lines(tables.run_table(result))
    assert text[:4] == [
        "gemm_all_gather on mi300x-8, strategy base",
        "wall 3.000 ms, serial 3.750 ms, ideal speedup 1.50x, speedup 1.25x",
        "fraction of ideal 50.0 %, own fraction 62.5 %, exposed 0.000 ms, stretched 0.250 ms",
        "energy 2.25 J, mean power 750 W (750 W per GPU)",
    ]
    assert "task kind (ms) (ms) (ms) (x) (ms) (ms) (ms) (J)" in text
    assert "gemm gemm 2.500 0.000 3.000 1.20x 0.000 0.000 0.000 1.50" in text
    assert "gather collective 1.250 0.500 2.000 1.60x 0.000 0.000 0.000 1.50" in text
    assert (
        text[-1] == "note: power is not validated on this node [no data]"
    )  # brackets are no markup


def test_a_short_run_is_in_microseconds_and_a_lone_task_has_no_fraction(result):
    short = replace(
        result, wall_s=25e-6, serial_s=25e-6, fraction_of_ideal=None, overlap=OverlapResult()
    )
    text = "\n".join(lines(tables.run_table(short)))
    assert "wall 25.000 us" in text and "(us)" in text and "(ms)" not in text
    assert "fraction of ideal -, own fraction -" in text


def test_compare_has_a_row_per_strategy_and_names_the_fastest(result):
    other = replace(
        result, strategy="conccl", wall_s=2.5e-3, speedup=1.5, fraction_of_ideal=1.0, tasks={}
    )
    text = lines(tables.compare_table([result, other]))
    assert text[0] == "gemm_all_gather on mi300x-8: ideal speedup 1.50x"
    assert "base 3.000 1.25 50.0 62.5 0.000 0.250 2.25" in text
    assert "conccl 2.500 1.50 100.0 62.5 0.000 0.250 2.25" in text
    assert "base 3.000, 1.20x 2.000, 1.60x" in text and "conccl - -" in text
    assert text[-1] == "fastest: conccl, 1.50x as fast as one after the other"
    assert lines(tables.compare_table([]))[0] == "no strategies to compare"


def test_explain_is_an_account_that_adds_up(explanation):
    text = lines(tables.explain_table(explanation))
    account = ["100.0 2.500", "15.0 0.375", "4.0 0.100", "1.0 0.025", "120.0 3.000"]
    names = ["gemm alone (isolated time)", "+ fewer compute units", "+ HBM bandwidth"]
    names += ["+ left over (not explained)", "= together with the others (1.20x)"]
    first = text.index("gemm alone (isolated time) 100.0 2.500")
    assert text[first : first + 5] == [
        f"{name} {figures}" for name, figures in zip(names, account, strict=True)
    ]
    assert "+ waiting for compute units [queue] 40.0 0.500" in text
    assert "+ left over (not explained) -5.0 -0.062" in text


def test_a_narrow_table_of_parts_shows_what_they_take():
    """Eight causes are wider than a terminal; the whole and what nothing shares come first."""
    causes = {f"cause of kind {number}": 0.001 for number in range(8)}
    part = {"time_s": 0.1, "unshared_s": 0.092, "causes_s": causes}
    heads, rows = tables.parts_rows({"wall": part})
    assert [" ".join(head.split()) for head in heads[:3]] == [
        "part",
        "together (ms)",
        "nothing shared (ms)",
    ]
    assert rows == [["wall", "100.000", "92.000", *["1.000"] * 8]]
    table, _ = tables.parts_lines({"wall": part})
    assert any("wall 100.000 92.000" in line for line in lines(table, width=80))


def test_the_causes_of_a_step_fit_a_terminal():
    """The table of a node of eight H200: four kinds of sharing, and what three do together."""
    causes = ("compute_units", "cache", "hbm", "clock", "three_or_more")
    part = {"time_s": 0.4, "unshared_s": 0.3, "causes_s": dict.fromkeys(causes, 0.01111)}
    table, _ = tables.parts_lines({"normalisation": part})
    heads = " ".join(lines(table, width=80)[:3])
    assert "+ three" in heads and "or more" in heads


def test_explain_leaves_out_what_would_read_as_nothing(explanation):
    explanation["tasks"]["gemm"]["causes"] |= {"links": 0.0004, "memory_side_cache": -0.0006}
    text = "\n".join(lines(tables.explain_table(explanation)))
    assert (
        "+ links" not in text
        and "+ memory side cache -0.1" in text
        and "below 0.05 % are not listed" in text
    )


@pytest.mark.parametrize("width", [70, 80])
def test_narrow_terminals_lose_nothing(result, width):
    squeezed = "".join("".join(lines(tables.run_table(result), width)).split())
    for figure in ("3.000ms", "fractionofideal50.0%", "1.60x"):
        assert figure in squeezed


def test_a_pipe_gets_lines_of_80_characters_unless_told_its_width(
    result, explanation, capsys, monkeypatch
):
    """No cell is folded: the columns that do not fit, numbers at the right, are named."""
    monkeypatch.delenv("COLUMNS", raising=False)
    show(tables.run_table(result))
    show(tables.compare_table([result]))
    show(tables.explain_table(explanation))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80 and "\x1b" not in out
    assert "collective" in out and "left out at 80 characters: ran slower (ms), energy (J)" in out
    for width, left_out in ((60, True), (160, False)):
        monkeypatch.setenv("COLUMNS", str(width))
        show(tables.run_table(result))
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= width and ("left out at" in out) == left_out


def test_the_energy_of_a_run_is_a_row_per_component_and_a_column_per_task(result):
    """2.25 J in 3 ms, 750 W: 1.5 J (500 W) in compute units, all of them the GEMM's, and 0.75 J
    idle.
    """
    gemm = replace(result.tasks["gemm"], energy={"compute_units": 1.5, "hbm": 0.0})
    gather = replace(result.tasks["gather"], energy_j=0.0, energy_per_byte=1.64e-10)
    energy = {"compute_units": 1.5, "hbm": 0.0, "idle": 0.75}
    text = lines(
        tables.run_table(
            replace(
                result,
                power=PowerResult(
                    average_w=750.0, energy=energy, component_names={"compute_units": "CU"}
                ),
                ranks=RankResult(count=3, folded=True, events=42),
                tasks={"gemm": gemm, "gather": gather},
            )
        )
    )
    assert "energy 2.25 J, mean power 750 W (250 W per GPU)" in text
    assert "component (J) (%) (W) (J) (J)" in text
    assert "CU 1.50 66.7 500 1.50 -" in text and "idle 0.750 33.3 250 - -" in text
    assert "in all 2.25 100.0 750 1.50 0" in text and "per byte moved - 164 pJ/B" in text
    assert not any(line.startswith("hbm") for line in text)  # nothing was spent there
    assert any("not validated" in line for line in text)


def test_phases_have_a_table_of_their_own(result):
    """With parts, and the share of its time in which a phase sent."""
    phases = [
        {"name": "all_gather on the rails", "start_s": 0.0, "end_s": 1e-3, "sending_s": 0.9e-3},
        {"name": "all_gather in the node", "start_s": 0.5e-3, "end_s": 2e-3, "sending_s": 1.2e-3},
    ]
    gather = replace(result.tasks["gather"], detail={"parts": 4, "phases": phases})
    text = lines(tables.run_table(replace(result, tasks={**result.tasks, "gather": gather})))
    assert "gather all_gather on the rails 4 0.000 1.000 0.900 90.0" in text
    assert "all_gather in the node 0.500 2.000 1.200 80.0" in text
    assert not any("phase" in line for line in lines(tables.run_table(result)))


def test_the_yardstick_of_a_fraction_is_said_where_it_is_shown(result):
    """113.9 % is no mistake: the collective on compute units, not the strategy's own, is 100 %."""
    for table in (tables.run_table(result), tables.compare_table([result])):
        said = " ".join(lines(table))
        assert "100 % the ideal with collectives on compute units" in said
        assert "own fraction: 100 % is the ideal with each collective as the strategy" in said


# Many tasks
# --------------------------------------------------------------------------------------------------


def layers(result, count=100):
    """A gather per layer in one stream and two GEMMs in another."""
    gemm, gather = result.tasks["gemm"], result.tasks["gather"]
    tasks = {}
    for i in range(count):
        tasks[f"gather_{i}"] = replace(gather, stream="comm", room_s=0.25e-3, slower_s=0.25e-3)
        for name in ("up", "down"):
            tasks[f"l{i}_{name}"] = replace(gemm, stream="compute", slower_s=0.5e-3)
    return replace(result, tasks=tasks)


def test_many_tasks_fold_by_stream_and_name(result):
    """100 gathers of 1.25 ms that each waited 0.25 ms for room and ran 0.25 ms longer: 1.4x."""
    text = lines(tables.run_table(layers(result)), 100)
    assert "gather_* (100) collective 125.000 0.500 2.000 1.40x - 25.000 25.000 150" in text
    assert "l*_up (100) gemm 250.000 0.000 3.000 1.20x - 0.000 50.000 150" in text
    assert any(line.startswith("300 tasks in 3 rows") for line in text)
    assert len(text) < 30


def test_names_without_a_pattern_fold_by_kind(result):
    gemm, words = result.tasks["gemm"], [a + b for a in "abcdefgh" for b in "pqrs"]
    other = replace(gemm, stream="other")
    tasks = {f"x{word}": replace(gemm, stream="s") for word in words} | {"one": other}
    assert {row: len(names) for row, names in folds(tasks).items()} == {
        "gemm in s (32)": 32,
        "one in other": 1,
    }


@pytest.mark.parametrize("count", [2, 4, 100])
def test_a_comparison_fits_a_hundred_columns(result, count):
    """With any number of tasks: further ones go into blocks below, many are folded."""
    every = [replace(layers(result, count), strategy=name) for name in ("as_written", "sp_rp:128")]
    console = Console(file=io.StringIO(), width=300)
    console.print(tables.compare_table(every))
    found = console.file.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in found) <= 100
    assert any("gather_" in line for line in found)


def test_a_choice_that_loses_is_said_below_a_comparison(result):
    lost = replace(result, strategy="auto", notes=("the choice loses: 5.0 % slower than base",))
    text = lines(tables.compare_table([result, lost]))
    assert "auto: the choice loses: 5.0 % slower than base" in text


def test_the_last_line_says_how_near_a_measurement_is(result):
    near = replace(result, trust="nearest measurement: 8 runs")
    assert lines(tables.run_table(near))[-1] == "nearest measurement: 8 runs"
    assert lines(tables.compare_table([near, near]))[-1] == "nearest measurement: 8 runs"
