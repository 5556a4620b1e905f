"""What numba has compiled is kept, and no longer than the sources that it comes from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from c3sim.engine.compiled.table import sources

OUTER = """
from inside import half
from c3sim.engine.compiled.table import compiled


@compiled
def run(number):
    return half(number) + 1.0


print(run(8.0), sum(run.stats.cache_hits.values()))
"""
INNER = """
from c3sim.engine.compiled.table import {how}


@{how}
def half(number):
    return number / {by}
"""


def run_in(folder: Path, how: str, by: float) -> list[float]:
    """Result of ``run``, and how often what had been compiled before was found."""
    (folder / "inside.py").write_text(INNER.format(how=how, by=by), encoding="utf-8")
    (folder / "outside.py").write_text(OUTER, encoding="utf-8")
    command = [sys.executable, "outside.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [float(each) for each in done.stdout.split()]


@pytest.mark.parametrize("how", ["inline", "inner"])
def test_code_is_compiled_anew_when_an_inner_file_changes(tmp_path: Path, how: str) -> None:
    pytest.importorskip("numba")
    assert run_in(tmp_path, how, 2.0) == [5.0, 0]
    assert run_in(tmp_path, how, 2.0) == [5.0, 1]  # kept
    assert run_in(tmp_path, how, 4.0) == [3.0, 0]
    kept = {each.name for each in (tmp_path / "__pycache__").glob("*.nb?")}
    assert len(kept) == 2  # an index, and the code of now alone


def test_sources_are_all_python_files_of_the_folder(tmp_path: Path) -> None:
    digests = []
    for name, text in (("one.py", ""), ("one.py", "1"), ("two.py", ""), ("note.txt", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        sources.cache_clear()
        digests.append(sources(str(tmp_path / "one.py")))
    assert len(set(digests[:3])) == 3
    assert digests[2] == digests[3]
