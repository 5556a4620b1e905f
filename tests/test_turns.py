"""What a run of the tests leaves to other commits (``tests/support/turns.py``)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import turns
import yaml
from places import ROOT
from turns import LONG, MARKED, waits, why_left_out


class Item:
    """As much of a test as is asked: a file that is marked ``turns(3)``, one test of it *long*."""

    def __init__(self, file: str, name: str = "test", *, long: bool = False) -> None:
        self.path, self.nodeid = Path(file), f"{file}::{name}"
        self.long, self.file = long, file

    def iter_markers_with_node(self, name: str) -> list:
        if name == "turns":
            return [(Item(self.file), pytest.mark.turns(3).mark)]
        return [(self, pytest.mark.long.mark)] if self.long else []


def runs(monkeypatch, item: Item, commits: int, *named: Path) -> list[int]:
    """Of so many commits in a row those in which *item* runs."""
    found = []
    for commit in range(100, 100 + commits):
        monkeypatch.setattr(turns, "commits", lambda commit=commit: commit)
        found += [] if why_left_out(item, named) else [commit]
    return found


def test_three_commits_in_a_row_have_every_file_once_and_whole(monkeypatch):
    when = [runs(monkeypatch, Item(f"test_{n}.py"), 3) for n in range(30)]
    assert {len(each) for each in when} == {1} and len({each[0] for each in when}) == 3
    for name in ("test_a", "test_b"):
        assert runs(monkeypatch, Item("test_1.py", name), 3) == when[1]


def test_a_file_that_is_named_runs_but_for_what_is_long(monkeypatch):
    named = Path("test_1.py")
    assert len(runs(monkeypatch, Item("test_1.py"), 3, named)) == 3
    assert len(runs(monkeypatch, Item("test_1.py", long=True), LONG, named)) == 1


@pytest.mark.parametrize(
    ("change", "about"),
    [
        ("tests/test_made.py", True),
        ("c3sim/models/links.py", True),
        ("c3sim/api/objects.py", True),
        ("validation/fit/age.py", True),
        ("workloads/studies/conccl.yaml", True),
        ("c3sim/models/gemm.py", False),
        ("tests/test_other.py", False),
    ],
)
def test_a_file_about_what_a_commit_changes_has_no_turn_to_wait_for(
    tmp_path, monkeypatch, change, about
):
    file = tmp_path / "tests" / "test_made.py"
    file.parent.mkdir()
    file.write_text(
        "from c3sim.api.objects import run\nfrom c3sim.models import hbm, links\n"
        "from c3sim.validation.fit import age\n"
        'pytestmark = pytest.mark.turns(1000000000)\nRUN = study("conccl")\n'
    )
    monkeypatch.setattr(turns, "changed", lambda: frozenset({change}))
    turns.is_about_changes.cache_clear()
    assert waits(file, tmp_path) == (not about)


def test_a_run_says_what_it_leaves_out_and_every_case_has_all(tmp_path):
    """In a process of its own, from a folder; a file by its name."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    options = f"pythonpath = {ROOT / 'tests' / 'support'}\nmarkers =\n  long\n  turns(n)\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{options}")
    (tmp_path / "test_made.py").write_text(
        "import pytest\npytestmark = pytest.mark.turns(1000000000)\ndef test_one(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # half of the time
    for words, said in (
        (["."], "1 files wait for another commit"),
        (["test_made.py"], "1 passed"),
        ([".", "--every-case"], "1 passed"),
    ):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, env=env)
        assert said in done.stdout.decode(), words


def test_every_commit_runs_the_tests_that_notice_mutations(request):
    """Those of tests/mutations.yaml: no mark leaves one of them to another commit."""
    entries = yaml.safe_load((ROOT / "tests" / "mutations.yaml").read_text("utf-8"))
    named = {test for entry in entries for test in entry.get("noticed_by", {}).get("tests", ())}
    here = {item.nodeid.partition("[")[0]: item for item in request.session.items}
    marked = [
        test
        for test in named & here.keys()
        if any(here[test].get_closest_marker(mark) for mark in ("long", "turns"))
    ]
    assert marked == []
    files = {test.partition("::")[0] for test in named}
    assert not [file for file in files if MARKED.search((ROOT / file).read_text("utf-8"))]
