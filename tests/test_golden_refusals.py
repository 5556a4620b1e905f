"""Texts of refusals are compared while the tests run (``tests/support/refusals.py``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from places import ROOT
from refusals import FILE, difference, lost, read, take_in

#: Of its tests one hears two texts, four hear one, one hears none, in either of two processes.
TESTS = """
import pytest
from c3sim.errors import InputError

def test_two(tmp_path):
    with pytest.raises(InputError, match="no bytes"):
        raise InputError("no bytes", path="size", file=str(tmp_path / "w.yaml"))
    with pytest.raises(InputError):
        raise InputError("no GPU")

@pytest.mark.parametrize("what", ["changed", "new", "lost"])
def test_one(what):
    with pytest.raises(InputError):
        raise InputError(f"text {what}")

def test_none():
    with pytest.raises(ValueError):
        raise ValueError("not ours")
"""
TWO = {"test_made.py::test_two": ["{tmp}/w.yaml: size: no bytes", "no GPU"]}
ONE = "test_made.py::test_one"
HEARD = {**{f"{ONE}[{what}]": [f"text {what}"] for what in ("changed", "new", "lost")}, **TWO}

CONFTEST = """
import sys
from pathlib import Path
from refusals import Refusals

def pytest_addoption(parser):
    parser.addoption("--refusals-to", type=Path)

def pytest_configure(config):
    folder = config.getoption("--refusals-to")
    config.pluginmanager.register(Refusals(Path(__file__).with_name("kept.json"), folder))
"""


@pytest.fixture
def made(tmp_path):
    """Runs the tests above in two processes, beside texts that were kept."""
    (tmp_path / "test_made.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests' / 'support'}\n")

    def run(kept, *words):
        (tmp_path / "kept.json").write_text(json.dumps(kept))
        options = ("-q", "-rN", "-p", "xdist", "-n", "2")  # in CI a summary would repeat the lines
        command = [sys.executable, "-m", "pytest", *options, *words]
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.mark.turns(5)
def test_what_two_processes_heard_is_taken_in(made, tmp_path):
    heard = tmp_path / "heard"
    heard.mkdir()
    gone = {"test_made.py::test_gone": ["old"], "test_nowhere.py::test_x": ["old"]}
    assert made(gone, "--refusals-to", str(heard)).returncode == 0
    moved = take_in(heard, tmp_path / "kept.json")
    assert read(tmp_path / "kept.json") == HEARD
    assert moved == sorted([*HEARD, *gone])


@pytest.mark.turns(5)
def test_a_text_that_moved_fails_its_test_and_no_other(made):
    lost = {f"{ONE}[changed]": ["text change"], f"{ONE}[lost]": ["text lost", "no node"]}
    done = made({**TWO, **lost})
    assert done.returncode == 1 and "3 failed, 2 passed" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line[:2] in ("- ", "+ ")]
    assert sorted(lines) == ["+ text changed", "+ text new", "- no node", "- text change"]


def test_only_what_moved_is_named():
    lines = difference(["a", "b"], ["a", "c"]).splitlines()
    assert lines[1:3] == ["- b", "+ c"] and "- a" not in lines


@pytest.mark.parametrize(
    ("heard", "same"),
    [
        ("{tmp}/w.yaml: node: allowed: a-1, b-2, c ... e-5, f-6", True),
        ("{tmp}/w.yaml: node: allowed: a ... -5, f-6", True),
        ("{tmp}/w.yaml: node: allowed: a-1, x-2 ... -5, f-6", False),
        ("{tmp}/w.yaml: node: allowed: a-1, b ... -5, f-7", False),
        ("{tmp}/w.yaml: node: allowed: a-1, b-2, c-3, d-4, e-5, f-6", False),
        ("w.yaml: node: allowed: a-1, b-2, c ... e-5, f-6", False),
    ],
)
def test_a_line_with_a_folder_of_its_run_is_cut_where_that_leaves_room(heard, same):
    """A path of pytest-9 leaves a letter more to the rest of the line than one of pytest-10."""
    kept = "{tmp}/w.yaml: node: allowed: a-1, b ... -5, f-6"
    assert (len(difference([kept], [heard]).splitlines()) == 2) == same


def test_a_test_is_lost_if_its_file_was_collected_or_is_gone():
    here = "tests/test_golden_refusals.py"
    known = [f"{here}::a", f"{here}::b", "tests/nowhere.py::a", "tests/test_api.py::a"]
    assert lost(known, {f"{here}::a"}) == [f"{here}::b", "tests/nowhere.py::a"]


def test_no_test_with_a_kept_text_is_lost(request):
    """Asked only of whole files; ``-k`` and ``-m`` leave none out here."""
    if any("::" in word for word in request.config.args):
        pytest.skip("single tests were asked for")
    known = read()
    assert len(known) > 100 and FILE.stat().st_size < 200_000
    assert lost(known, request.config.pluginmanager.get_plugin("refusals").collected) == []
