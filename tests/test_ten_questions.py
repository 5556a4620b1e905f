"""The commands of docs/ten-questions.md, each run from an empty folder, and what the page says of
their answers. Long ones are asked of less of the same: words of SMALLER are added to a command.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_case import invoke
from places import ROOT

from c3sim.cli import consent

PAGE = (ROOT / "docs" / "ten-questions.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^## \d+\. .*\n", PAGE, flags=re.MULTILINE)[1:]
JOB = ROOT / "tests" / "importers" / "data" / "fsdp_forward_h200x2"
TWO_LAYERS = ["--set", "layers=2"]
SMALLER = {
    1: TWO_LAYERS,
    2: TWO_LAYERS,
    3: TWO_LAYERS,
    7: [*TWO_LAYERS, "--screen", "80"],
    9: [
        *("--set", "serving.prompt_tokens=2048", "--set", "serving.hit_rate=0.9"),
        *("--set", "serving.output_tokens=16", "--set", "serving.layout=per_layer"),
    ],
}


def commands(number: int) -> list[tuple[str, list[str]]]:
    """Each command of that question and its words; files of the page are written."""
    section = SECTIONS[number - 1]
    for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", section, re.DOTALL):
        Path(name).write_text(text.replace("trials: 24", "trials: 6"), encoding="utf-8")
    lines = "".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL)).splitlines()
    words = [shlex.split(line) for line in lines]
    assert {program for program, *_ in words} == {"c3sim"}
    return [(line, given[1:]) for line, given in zip(lines, words, strict=True)]


@pytest.fixture
def answers(tmp_path, monkeypatch, few_draws):
    """``answers(n)``: what the commands of question n print, one by one; files of the page lie in
    the folder.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def ask(number: int) -> list[str]:
        found = []
        for line, arguments in commands(number):
            done = invoke(*(arguments + SMALLER.get(number, [])))
            assert done.exit_code == 0, f"{line}\n{done.output}"
            found.append(done.output)
        return found

    return ask


def alone(text: str) -> float:
    """Exposed communication [ms]: the last but one number of its row."""
    row = re.search(r"^communication +(.*)$", text, re.MULTILINE)
    assert row is not None
    return float(row.group(1).split()[-2])


def test_there_are_ten() -> None:
    assert len(SECTIONS) == 10


@pytest.mark.parametrize("number", [1, 2, 3, 5, 6, 7])
def test_what_runs_long_is_understood(number, tmp_path, monkeypatch) -> None:
    """Its whole answer is asked for in the long test of the question; here every command is read,
    its files, settings and machine too, up to its effort, to which nobody agrees.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(consent, "MOST_SECONDS", 0.0)
    (tmp_path / "job").symlink_to(JOB)
    for line, words in commands(number):
        if words[1] != "moved.yaml":  # which the command before it would have written
            assert "--yes: this takes about" in invoke(*words).stderr, line


@pytest.mark.slow
@pytest.mark.long
def test_training_exposes_less_with_faster_links(answers) -> None:
    before, after = answers(1)
    assert "wall follows" in before
    assert alone(after) < alone(before)


@pytest.mark.long
def test_decoding_experts_and_deepseek_expose_communication(answers) -> None:
    for text in answers(2):
        assert alone(text) > 0


@pytest.mark.long
def test_64_gpus(answers) -> None:
    (text,) = answers(3)
    assert alone(text) > 0
    assert "tokens/s on 64 GPUs, MFU" in text


def isolated(text: str, task: str) -> float:
    """The time of *task* alone [ms]: the first number of its row."""
    row = re.search(rf"^{task} +(?:gemm|collective) +([\d.]+) ", text, re.MULTILINE)
    assert row is not None
    return float(row.group(1))


def test_other_gpus(answers) -> None:
    """A GPU sends 112 MiB to each of seven peers. Over seven links of 100 GB/s that takes 1.174 ms,
    over those of MI300X, 48.5 GB/s, 2.42 ms: the file's own links are used, though the library's
    channels do not fill them. B200 sends all of it over 18 links of 42.2 GB/s: 1.08 ms at least,
    and its matrix units have nearly twice the rate.
    """
    b200, wrote, mine = answers(4)
    assert "mine.yaml" in wrote
    assert 112 * 2**20 / 100e9 < isolated(mine, "gather") / 1e3 < 112 * 2**20 / 48.5e9
    assert isolated(b200, "gather") / 1e3 > 7 * 112 * 2**20 / (18 * 42.2e9)
    assert isolated(b200, "gather") < isolated(mine, "gather")
    assert isolated(b200, "gemm") < isolated(mine, "gemm") / 1.7
    assert "links.bandwidth 100 GB/s (file: " in mine  # beyond what it vouches for


@pytest.mark.slow
@pytest.mark.long
def test_a_trace_is_replayed_and_moved(answers, tmp_path) -> None:
    (tmp_path / "job").symlink_to(JOB)
    replayed, moved, run = answers(5)
    error = re.search(r"replay: .* \(([+-][\d.]+)%\)", replayed)
    assert error is not None and abs(float(error.group(1))) < 5
    assert "guessed: " in moved and "on mi300x-8: " in moved
    assert "reduce_scatter" in run


@pytest.mark.slow
@pytest.mark.long
def test_engines_until_something_else_binds(answers) -> None:
    """The seven links of a GPU carry 64 GB/s each; no design of the front is slower and larger
    than another.
    """
    pytest.importorskip("optuna")
    front, explained = answers(6)
    assert Path("front.png").exists()
    designs = re.findall(r"^(\d+) +([\d.]+)(?: [mu]s)? +([\d.]+) ", front, re.MULTILINE)
    walls, areas = ([float(each[place]) for each in designs] for place in (1, 2))
    assert len(designs) > 1
    assert sorted(walls) == walls and sorted(areas, reverse=True) == areas
    assert "bound by" in explained


@pytest.mark.slow
@pytest.mark.long
def test_the_parameter_to_measure_first(answers) -> None:
    (text,) = answers(7)
    first = re.search(r"measure ([\w.]+) first", text)
    assert first is not None
    rows = re.findall(r"^(\S+) ", text.split("─\n", 1)[1], re.MULTILINE)
    assert first.group(1) == next(row for row in rows if "*" not in row)  # * are several together


@pytest.mark.slow
def test_the_best_of_a_pair(answers) -> None:
    """What is named as fastest is; as written, nothing is changed of launches that base makes in
    the same order. A knob is advised where the lower end of its band is a gain, and only there.
    """
    compared, advised = answers(8)
    rows = re.findall(r"^(\w+) +([\d.]+) +[\d.]+ +[\d.]+ ", compared, re.MULTILINE)
    walls = {name: float(wall) for name, wall in rows}
    assert walls["as_written"] == walls["base"] > walls["sp"] > walls["rp"]
    fastest = re.search(r"^fastest: (\w+), ", compared, re.MULTILINE)
    assert fastest is not None and walls[fastest.group(1)] == min(walls.values())
    row = r"^(\w+) +(take it|leave it) +(-?[\d.]+) +(?:(-?[\d.]+) to \S+|-) +([\d.]+) *$"
    knobs = {knob: found for knob, *found in re.findall(row, advised, re.MULTILINE)}
    assert {"order", "priority", "engines", "channels"} <= knobs.keys()
    for verdict, gain, low, wall in knobs.values():
        assert (verdict == "take it") == (low != "" and float(low) > 0)
        gained = 100 * (1 - float(wall) / walls["as_written"])
        assert float(gain) == pytest.approx(gained, abs=0.1)
    assert float(knobs["order"][3]) == walls["sp"]  # which launches the collective first


@pytest.mark.slow
@pytest.mark.long
def test_fetches_beside_decoding(answers) -> None:
    """A fetch gains latency and throughput here, as published; a claim holds within its band, or
    within a tenth where there is none.
    """
    (text,) = answers(9)
    row = r"^(latency|throughput): .*  ([\d.]+)(?: to ([\d.]+))?x +([\d.]+)x +(yes|no) *$"
    claims = re.findall(row, text, re.MULTILINE)
    assert [claim for claim, *_ in claims] == ["latency", "throughput"]
    for _, low, high, here, holds in claims:
        wide = (float(low), float(high)) if high else (0.9 * float(low), 1.1 * float(low))
        assert float(here) > 1 and (holds == "yes") == (wide[0] <= float(here) <= wide[1])


def test_lessons_and_exam_are_where_the_page_says() -> None:
    """Twelve programs, the first of which the page starts; thirteen questions on lessons 1 to 10
    and 12, each with its answer.
    """
    lessons = sorted((ROOT / "lessons").glob("[0-9]*.py"))
    (first,) = re.findall(r"`python (lessons/\S+)`", SECTIONS[9])
    assert ROOT / first == lessons[0] and len(lessons) == 12
    listed = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    assert all(f"](../lessons/{path.name})" in listed for path in lessons)
    exam = (ROOT / "docs" / "exam.md").read_text(encoding="utf-8")
    questions, answered = exam.split("## Answers")
    numbers = [re.findall(r"^(\d+)\. ", part, re.MULTILINE) for part in (questions, answered)]
    assert numbers[0] == numbers[1] == [str(number) for number in range(1, 14)]
    asked = {int(lesson) for lesson in re.findall(r"lesson (\d+)\)", questions)}
    assert asked == {*range(1, 11), 12}
