"""A study and a picture of somebody else's package: found by their entry points, with no file of
c3sim touched.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_case import invoke

import c3sim
from c3sim.errors import InputError
from c3sim.experiments.study import kinds, named_kind

STUDY = """
from c3sim.experiments.claims import claim
from c3sim.experiments.papers.sweep import cases
from c3sim.experiments.study import Row
from c3sim.kit.grid import Table
from c3sim.kit.panels import panel
from c3sim.simulation.runs import run_once


def row(case, study):
    return Row(case.point, wall_s=run_once(case.node, case.workload).end)


def reduce(asked, cases, rows):
    return {"rows": rows, "published": asked.study.published}


def tables(found):
    return [Table(found.title, found.rows, ["task.gather.size as size", "wall_s us"])]


def claims(found):
    ratio = found.rows[1].wall_s / found.rows[0].wall_s
    yield claim("four times the bytes, longer by", ratio, found.published["ratio"])


def panels(found):
    return [panel("Wall time", found.rows, "task.gather.size", "wall_s us")]
"""
OTHERS = """
from matplotlib.figure import Figure


def dots(table, columns):
    figure = Figure()
    figure.subplots().plot(range(len(table)), "o")
    return figure, "a dot for each point"
"""
POINTS = """\
[c3sim.studies]
by_size = stranger_study

[c3sim.figures]
dots = stranger_others:dots
"""
MINE = """\
schema: 1
name: mine
kind: by_size
node: teaching-4
workload: gemm-beside-all-gather
axes: {task.gather.size: [16 MiB, 64 MiB]}
published: {source: nobody, ratio: 1.9}
"""


def cli(*words: str) -> Any:
    return invoke(*words)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as an installer leaves it, on the path of this test alone; a study file of it."""
    information = tmp_path / "stranger-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(POINTS)
    (tmp_path / "stranger_study.py").write_text(STUDY)
    (tmp_path / "stranger_others.py").write_text(OTHERS)
    (tmp_path / "mine.yaml").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "mine.yaml"


def test_a_study_is_run_shown_drawn_and_judged(installed: Path, tmp_path: Path) -> None:
    found = c3sim.study(installed, n_jobs=1)
    assert [row["task.gather.size"] for row in found.rows] == ["16 MiB", "64 MiB"]
    assert found.rows[0].wall_s < found.rows[1].wall_s
    assert list(found.to_frame().columns) == ["task.gather.size", "wall_s"]
    result = cli("study", str(installed), "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.stderr
    assert "mine on teaching-4" in result.stdout and "four times the bytes" in result.stdout
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["mine.json", "mine.png", "mine.txt"]
    judged = json.loads(cli("study", str(installed), "--verdict", "--json").stdout)
    (claim,) = judged["claims"]
    ratio = found.rows[1].wall_s / found.rows[0].wall_s
    assert claim["ours"] == pytest.approx(ratio) and claim["published"] == [1.9, 1.9]
    assert claim["holds"] == (0.9 * ratio <= 1.9 <= 1.1 * ratio)


def test_a_module_that_lacks_a_function_is_told_so(installed: Path, tmp_path: Path) -> None:
    named_kind.cache_clear()
    text = STUDY.replace("def reduce", "def reduces")
    (tmp_path / "stranger_study.py").write_text(text)
    import sys

    sys.modules.pop("stranger_study", None)
    with pytest.raises(InputError, match="stranger_study has no reduce"):
        named_kind("by_size")
    sys.modules.pop("stranger_study", None)


def test_a_kind_that_nobody_has_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.replace("by_size", "channel"))
    with pytest.raises(
        InputError, match="unknown kind of study 'channel'; did you mean 'channels'"
    ):
        c3sim.study(path)


def test_packaged_kinds_are_modules_of_one_folder() -> None:
    assert {"sweep", "c3", "t3"} <= set(kinds())
    assert kinds()["t3"] == "c3sim.experiments.papers.t3"


def test_a_picture_is_found_as_well(installed: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(MINE.replace("kind: by_size\n", ""))
    assert cli("sweep", str(sweep), "--out", str(tmp_path / "out")).exit_code == 0
    picture = tmp_path / "dots.png"
    drawn = cli("plot", str(tmp_path / "out"), "--kind", "dots", "--out", str(picture))
    assert drawn.exit_code == 0, drawn.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
