"""``cli(...)`` runs a command in this process; ``shell(...)`` in a new one. Both in an empty
folder.
"""

from __future__ import annotations

import subprocess

import pytest
from cli_case import COMMAND, PAIR
from typer.testing import CliRunner


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty working directory, and lines so wide that no table leaves out a column."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.fixture
def cli(empty, monkeypatch):
    """A command; what it answers is not kept, as tests put their own functions in places."""
    from c3sim.cli.app import app
    from c3sim.experiments import kept

    monkeypatch.setattr(kept, "WAITED", float("inf"))

    return lambda *arguments: CliRunner().invoke(app, arguments)


@pytest.fixture
def shell(empty):
    def run(*arguments, **options):
        return subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, timeout=120, **options
        )

    return run


@pytest.fixture
def pair(empty):
    """The path of a small workload file."""
    (empty / "pair.yaml").write_text(PAIR, encoding="utf-8")
    return "pair.yaml"
