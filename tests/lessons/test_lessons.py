"""Every lesson runs as a program in under ten seconds, with its answer and a guess, without a GPU
and without a warning; wrong answers get hints.
"""

import re
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from places import ROOT
from programs import run_script

import c3sim
from c3sim.lab.choice import LESSONS as IN_LAB
from c3sim.lab.runs import look_at

FOLDER = ROOT / "lessons"
sys.path.insert(0, str(FOLDER))

from answers import PAIR, WIDE, last_round  # noqa: E402
from exercises import EXERCISES  # noqa: E402
from lesson import Lesson  # noqa: E402
from lines import counts  # noqa: E402
from records import iteration, rows  # noqa: E402

LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
MOST_SECONDS = 10
LONG = (10, 12)  # those on steps of a model; their prose, choices and answers are tested always


def number(path: Path) -> int:
    return int(path.name[:2])


@pytest.fixture(autouse=True)
def answered_once(monkeypatch):
    """Answers, and numbers of typical mistakes, are computed once for all tests of a process."""
    for count in EXERCISES:
        monkeypatch.setitem(EXERCISES, count, once(count))


@cache
def once(count):
    exercise = EXERCISES[count]
    mistakes = exercise.mistakes.items()
    kept = {reply: cache(found) if callable(found) else found for reply, found in mistakes}
    return replace(exercise, right=cache(exercise.right), mistakes=kept)


def test_there_are_twelve_each_with_an_exercise_and_a_place_in_the_laboratory():
    numbers = list(range(1, 13))
    assert [number(path) for path in LESSONS] == numbers == list(EXERCISES)
    assert [int(title.split()[0]) for title in IN_LAB] == numbers


def marked(count):
    return (pytest.mark.long,) if count in LONG else ()


@pytest.mark.slow
@pytest.mark.turns(5)
@pytest.mark.parametrize(
    "path", [pytest.param(each, id=each.stem, marks=marked(number(each))) for each in LESSONS]
)
def test_a_lesson_runs_and_takes_its_answer(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "from lines import" in path.read_text(encoding="utf-8"):
        counts.__wrapped__("uncached", 8)  # numba compiles once on a machine: half a minute
    text, began = path.read_text(encoding="utf-8"), time.process_time()
    said = run_script(answered(path, tmp_path), capsys)
    assert time.process_time() - began < MOST_SECONDS
    assert "You guessed 1" in said and "\nRight: " in said
    machines = r"two NVIDIA H200|Two H200|One NVIDIA H200|mi300x-8; source"
    assert "measured" in said and re.search(machines, said + text)
    command = list(IN_LAB.values())[number(path) - 1].command("lab")
    assert f"In the laboratory: {command}\n" in said
    pictures = sorted(tmp_path.glob("*.png"))
    assert pictures and all(each.stat().st_size > 5000 for each in pictures)


def answered(path, folder):
    """The lesson in *folder*, with its answer and a guess filled in."""
    right = EXERCISES[number(path)].right()
    text = path.read_text(encoding="utf-8")
    filled = text.replace("answer = None", f"answer = {right!r}").replace(
        "guess = None", "guess = 1"
    )
    assert filled.count(repr(right)) >= 1 and "guess = 1" in filled
    copy = folder / path.name
    copy.write_text(filled, encoding="utf-8")
    return copy


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_its_parts_in_order(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# %% [markdown]\n# # {number(path)}. ")
    heads = re.findall(r"^# ## (.*)$", text, re.MULTILINE)
    assert heads == ["Question", "Run", "Picture", "Why", "Measured", "Exercise"]
    assert re.search(r"\*(Ten|Fifteen|Twenty) minutes\.\*", text)


@pytest.mark.parametrize("choice", IN_LAB.values(), ids=list(IN_LAB))
def test_the_place_of_a_lesson_in_the_laboratory_runs(choice):
    assert look_at(choice).problem == ""


def test_the_table_of_lessons_has_their_titles_and_minutes():
    table = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    row = r"^\| (\d+) \| \[(.*)\]\(\.\./lessons/(.*)\) \| (\d+) \|$"
    minutes = {"Ten": "10", "Fifteen": "15", "Twenty": "20"}
    said = []
    for path in LESSONS:
        text = path.read_text(encoding="utf-8")
        title = re.search(r"^# # \d+\. (.*)$", text, re.MULTILINE)[1]
        took = re.search(r"\*(\w+) minutes\.\*", text)[1]
        said.append((str(number(path)), title, path.name, minutes[took]))
    assert re.findall(row, table, re.MULTILINE) == said


def test_the_plan_of_three_hours_gives_each_lesson_its_minutes():
    text = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    rows_of = re.findall(r"^\| (\d+) to (\d+) \| (?:Lesson (\d+))?", text, re.MULTILINE)
    begins, ends = ([int(row[place]) for row in rows_of] for place in (0, 1))
    assert begins == [0, *ends[:-1]] and ends[-1] == 180
    table = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    minutes = dict(re.findall(r"^\| (\d+) \| .* \| (\d+) \|$", table, re.MULTILINE))
    planned = {lesson: str(int(b) - int(a)) for a, b, lesson in rows_of if lesson}
    extra = re.findall(r"^Lesson (\d+) is extra", text, re.MULTILINE)
    assert planned == {each: took for each, took in minutes.items() if each not in extra}
    left_out = re.search(r"Two hours only: leave out ([\d, and]+)\.", text)[1]
    assert 180 - sum(int(minutes[each]) for each in re.findall(r"\d+", left_out)) == 120


@pytest.mark.parametrize("count", [pytest.param(each, marks=marked(each)) for each in EXERCISES])
def test_a_wrong_answer_gets_one_hint_after_the_other(count, capsys):
    exercise, lesson = EXERCISES[count], Lesson(count)
    wrong = 2.5 * exercise.right() + 1.23

    def said(answer):
        lesson.check(answer)
        return " ".join(capsys.readouterr().out.split())

    assert exercise.question in said(None)
    for hint in (*exercise.hints, exercise.hints[-1]):
        assert said(wrong) == f"Not yet. Hint: {hint}"
    for reply, numbers in exercise.mistakes.items():
        for number in numbers() if callable(numbers) else numbers:
            assert said(number) == f"Not yet: {reply}"
    assert said(exercise.right() / 1000) == (
        f"Not yet: the right digits, but not in {exercise.unit}."
    )
    assert len(exercise.mistakes) >= 2
    assert said("many") == f"The answer is a number, in {exercise.unit}."
    assert said(exercise.right()).startswith("Right: ")


def test_answers_are_those_that_can_be_found_by_hand():
    """1: where both take equally long, by the picture near 560. 2: three of four rounds of a GEMM
    of 0.965 ms; the last, of 240 tiles, is a little quicker than a quarter. 6: 32 x 37 tiles less
    three rounds of 304. 9: one engine for each of seven links.
    """
    assert EXERCISES[1].right() == pytest.approx(560, rel=0.02)
    assert EXERCISES[2].right() == pytest.approx(0.75 * 0.965, rel=0.03)
    assert last_round() == 32 * 37 - 3 * 304 == 272
    assert EXERCISES[9].right() == 7


def test_the_gemm_of_lesson_2_leaves_room_in_its_last_round_and_the_square_one_does_not():
    """On a die of 38 units turns go to engines of 9, 9, 10, 10 units, the first first. The last
    240 of 1152 tiles are 30 a die, 8, 8, 7, 7: all have room. The last 272 of 1184 are 34 a die, 9,
    9, 8, 8: the first is full, so nothing is placed until they end.
    """
    wide, square = (c3sim.run(PAIR, strategy="base", set=change).tasks for change in (WIDE, {}))
    assert wide["gemm"].detail["tiles"] == 3 * 304 + 240
    assert wide["gather"].room_s == pytest.approx(0.75 * wide["gemm"].isolated_s, rel=0.03)
    assert square["gather"].room_s == pytest.approx(square["gemm"].isolated_s, rel=0.01)


def test_a_record_is_shown_with_its_source_and_repeats_are_merged():
    name = "8192x8192x8192 beside all_gather 1 GiB, dma_push"
    found = rows("h200_c3", [name], "h200-2")
    wall = next(row for row in found if row.task == "wall")
    assert wall.measured == pytest.approx(1.41, rel=0.01)  # two runs: 1.411 and 1.411 ms
    assert "two NVIDIA H200" in wall.source and wall.role == "validation"
    assert len({(row.task, row.alone) for row in found}) == len(found)


def test_a_record_that_is_not_there_is_said():
    with pytest.raises(ValueError, match="no record"):
        rows("h200_c3", ["no such run"])


def test_a_measured_iteration_is_the_median_of_its_runs():
    """Sorted, the sixth and seventh of twelve are 44.72 and 44.77 ms."""
    together, predicted = iteration("llama8b-fsdp-forward-2x4096")["together"]
    assert together == pytest.approx(0.0447, abs=1e-4) and predicted == 0.04337
