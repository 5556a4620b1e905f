"""``c3sim plot`` and the page of ``c3sim sweep --report``, from an empty folder."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest
from cli_case import files
from typer.testing import CliRunner

from c3sim.cli import complete
from c3sim.cli.app import app

pytestmark = pytest.mark.turns(5)

STUDY = """\
schema: 1
name: links
node: teaching-4
workload: gemm-beside-all-gather
strategies: [base, conccl]
axes: {links.bandwidth: [10 GB/s, 20 GB/s, 30 GB/s]}
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A folder in which the study was swept."""
    folder = tmp_path_factory.mktemp("swept")
    with contextlib.chdir(folder):
        Path("links.yaml").write_text(STUDY, encoding="utf-8")
        words = ("--jobs", "1", "--out", "results", "--report", "page.html")
        result = CliRunner().invoke(app, ["sweep", "links.yaml", *words])
    assert result.exit_code == 0 and "wrote page.html; open it in a browser" in result.stderr
    return folder


@pytest.fixture
def swept(once, empty):
    return Path(shutil.copytree(once, empty, dirs_exist_ok=True))


def test_a_sweep_leaves_a_page_and_its_results_can_be_drawn(cli, swept):
    page = (swept / "page.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["runs"]) == 6 and data["title"] == "links"
    for arguments, name in (
        (("results",), "results.png"),
        (
            (
                "results/results.parquet",
                "--out",
                "a.svg",
                "--kind",
                "pareto",
                "--x",
                "wall_s",
                "--y",
                "speedup",
                "--where",
                "strategy=conccl",
                "--where",
                "links.bandwidth>10 GB/s",
            ),
            "a.svg",
        ),
        (("results", "--where", "strategy=base", "--out", "c.html"), "c.html"),
    ):
        result = cli("plot", *arguments)
        assert (result.exit_code, result.stderr) == (
            0,
            f"wrote {name}" + ("; open it in a browser\n" if name == "c.html" else "\n"),
        )
        assert (swept / name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("nothing",), "nothing: no such file; allowed: results.parquet of 'c3sim sweep'"),
        (("links.yaml",), "links.yaml: not a result file; allowed: "),
        (
            ("results", "--out", "a.gif"),
            "a.gif: unknown suffix '.gif'; allowed: .png, .svg, .pdf, .html, .htm",
        ),
        (("results", "--y", "wal_s"), "--y: unknown column 'wal_s'; did you mean 'wall_s'?"),
        (
            ("results", "--where", "strategy=sp"),
            "--where: 'strategy=sp' leaves no points; strategy has base, conccl",
        ),
        (
            ("results", "--out", "a.html", "--x", "wall_s"),
            "wall_s: --x: is chosen in the page itself; leave it out",
        ),
    ],
)
def test_mistakes_end_with_one_line_and_nothing_written(cli, swept, arguments, line):
    before = files(swept)
    result = cli("plot", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith(line) and result.stderr.count("\n") == 1
    assert files(swept) == before


def test_names_are_completed(empty):
    for name in ("a.parquet", "a.yaml", "b.json"):
        (empty / name).touch()
    assert complete.results("") == ["a.parquet", "b.json"]
    assert complete.charts("p") == ["pareto"]
