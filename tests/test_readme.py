"""README.md keeps its promises: one page, two set-up commands, the ones CI runs, links that exist,
commands that run.
"""

import re
import shlex

import pytest
from cli_case import invoke
from places import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = [block.strip() for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)]
CODE_FOLDERS = ("c3sim", "validation", "tools", "benchmarks", "examples", "tests")
TOP_FOLDERS = (*CODE_FOLDERS, "docs", "hwmodels", "workloads")
SETUP = [block for block in SHELL if "venv" in block]


def test_it_is_one_page():
    assert len(TEXT.splitlines()) <= 120


def test_there_are_exactly_two_setup_commands_of_one_line():
    assert len(SETUP) == 2
    assert all("\n" not in command for command in SETUP)


def test_ci_runs_the_second():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert SETUP[1] in [line.strip() for line in lines]


def test_pictures_and_links_exist():
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in target]
    assert "docs/img/timeline.png" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_generated_blocks_are_filled():
    """CI compares them with what the models give: tools/readme_figures.py --check."""
    blocks = re.findall(r"<!-- (\w+):begin -->\n(.+?)\n<!-- \1:end -->", TEXT, re.DOTALL)
    assert [name for name, _ in blocks] == ["run", "trust"]
    assert "off" in dict(blocks)["trust"]


@pytest.mark.parametrize(
    "line", [line for block in SHELL if block not in SETUP for line in block.splitlines()]
)
def test_the_commands_shown_run(line, tmp_path, monkeypatch, few_limits):
    """128 nodes are asked as two: what binds them takes dozens of simulations."""
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(line.replace("nodes=128", "nodes=2"), comments=True)[1:]
    assert invoke(*arguments).exit_code == 0


def test_every_top_folder_says_in_at_most_thirty_lines_what_it_is():
    lengths = {
        name: len((ROOT / name / "README.md").read_text(encoding="utf-8").splitlines())
        for name in TOP_FOLDERS
    }
    assert {name: length for name, length in lengths.items() if not 3 <= length <= 30} == {}
