"""The commands of docs/ten-questions.md, each run from an empty folder as the page has it, and what
the page says of their answers. Slow ones are those that simulate many times.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from c3sim.cli.app import app

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "ten-questions.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^## \d+\. .*\n", PAGE, flags=re.MULTILINE)[1:]
JOB = ROOT / "tests" / "importers" / "data" / "fsdp_h200x2"


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """``answers(n)``: what the commands of question n print, one by one; files of the page lie in
    the folder.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def ask(number: int, only: str = "") -> list[str]:
        section = SECTIONS[number - 1]
        for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", section, re.DOTALL):
            Path(name).write_text(text, encoding="utf-8")
        found = []
        for line in "".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL)).splitlines():
            program, *arguments = shlex.split(line)
            assert program == "c3sim"
            if only in line:
                done = CliRunner().invoke(app, arguments)
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


@pytest.mark.slow
def test_training_exposes_less_with_faster_links(answers) -> None:
    before, after = answers(1)
    assert "wall follows" in before
    assert alone(after) < alone(before)


def test_decoding_experts_and_deepseek_expose_communication(answers) -> None:
    for text in answers(2):
        assert alone(text) > 0


def test_64_gpus(answers) -> None:
    (text,) = answers(3)
    assert alone(text) > 0
    assert "64 GPUs" in text or "scale_out.nodes 8" in text


def test_other_gpus(answers) -> None:
    """Its own file is like MI300X, whose links are slower than 100 GB/s."""
    b200, wrote, mine = answers(4)
    assert "wall" in b200 and "mine.yaml" in wrote and "wall" in mine
    assert "links.bandwidth" in mine


@pytest.mark.slow
def test_a_trace_is_replayed_and_moved(answers, tmp_path) -> None:
    (tmp_path / "job").symlink_to(JOB)
    replayed, moved, run = answers(5)
    error = re.search(r"replay: .* \(([+-][\d.]+)%\)", replayed)
    assert error is not None and abs(float(error.group(1))) < 5
    assert "guessed: " in moved and "on mi300x-8: " in moved
    assert "reduce_scatter" in run


@pytest.mark.slow
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
def test_the_parameter_to_measure_first(answers) -> None:
    (text,) = answers(7)
    first = re.search(r"measure ([\w.]+) first", text)
    assert first is not None
    row = re.search(r"^(\w[\w.]+\w) ", text.split("─\n", 1)[1])
    assert row is not None and row.group(1) == first.group(1)


@pytest.mark.slow
def test_the_best_of_a_pair(answers) -> None:
    compared, advised = answers(8)
    assert "priority" in compared or "sp" in compared
    assert "channels" in advised


@pytest.mark.slow
def test_fetches_beside_decoding(answers) -> None:
    (text,) = answers(9)
    assert "published figures beside those here" in text


def test_lessons_and_exam_are_where_the_page_says() -> None:
    for path in re.findall(r"`python (lessons/\S+)`", SECTIONS[9]):
        assert (ROOT / path).is_file()
    assert len(list((ROOT / "lessons").glob("[0-9]*.py"))) == 11  # "eleven lessons"
    assert (ROOT / "docs" / "exam.md").read_text(encoding="utf-8").count("?") >= 10
