"""docs/reports.md: its study can be run, its commands are understood, its pictures are there."""

import re
import shlex

from places import ROOT

from c3sim.cli.plot import plot
from c3sim.experiments.plan import make_plan

DOCS = ROOT / "docs"
TEXT = (DOCS / "reports.md").read_text(encoding="utf-8")


def test_the_study_has_its_points(tmp_path):
    (study,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "engines.yaml").write_text(study, encoding="utf-8")
    assert len(make_plan(tmp_path / "engines.yaml").indices) == 2 * 4 * 6 * 3


def test_options_of_its_commands_exist():
    known = {f"--{name}" for name in plot.__annotations__} | {"--report", "--out"}
    blocks = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    words = [word for block in blocks for word in shlex.split(block, comments=True)]
    assert {word for word in words if word.startswith("--")} <= known
    assert "--where" in words


def test_its_pictures_exist():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert len(pictures) == 2 and all((DOCS / name).stat().st_size > 10_000 for name in pictures)
