"""Every example runs and prints what stands beside it. Numbers in examples are rounded, so the text
is compared as it is.

When a model changes on purpose: ``python tools/example_outputs.py``, and read the difference.
"""

import subprocess
import sys

import pytest
from places import ROOT
from programs import run_script

FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_stands_beside_it(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    expected = example.with_suffix(".out").read_text(encoding="utf-8")
    assert run_script(example, capsys) == expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_example_is_a_program_that_warns_of_nothing(tmp_path):
    """The first one, in a process of its own."""
    command = [sys.executable, "-W", "error", str(EXAMPLES[0])]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == EXAMPLES[0].with_suffix(".out").read_text(encoding="utf-8")


def test_examples_are_numbered_without_gaps_and_each_has_its_output():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    assert {path.stem for path in EXAMPLES} == {path.stem for path in FOLDER.glob("*.out")}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_begins_with_what_it_shows(example):
    assert example.read_text(encoding="utf-8").startswith('"""')
