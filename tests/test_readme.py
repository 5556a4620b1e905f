"""README.md keeps its promises: two set-up commands, the ones CI runs, pictures that exist,
commands that parse.
"""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from c3sim.cli.app import app

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = [block.strip() for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)]
SETUP = [block for block in SHELL if "venv" in block]


def test_there_are_exactly_two_setup_commands_of_one_line():
    assert len(SETUP) == 2
    assert all("\n" not in command for command in SETUP)


def test_ci_runs_the_second():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert SETUP[1] in lines


def test_pictures_and_links_exist():
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in target]
    assert "docs/img/study-conccl.png" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_generated_block_is_filled():
    block = TEXT.split("<!-- trust:begin -->")[1].split("<!-- trust:end -->")[0]
    assert "| median error |" in block and "all-reduce" in block


@pytest.mark.parametrize(
    "line", [line for block in SHELL if block not in SETUP for line in block.splitlines()]
)
def test_the_commands_shown_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(line, comments=True)[1:]
    assert CliRunner().invoke(app, arguments).exit_code == 0
