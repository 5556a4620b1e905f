"""docs/sweeps.md shows files that load, commands that exist, pictures that are there."""

import re

import pytest
import typer
from places import ROOT
from sweep_case import write

from c3sim.cli.app import app
from c3sim.experiments.plan import make_plan
from c3sim.experiments.setup import make_setup
from c3sim.spec.reading.loading import open_study

pytestmark = pytest.mark.turns(5)

TEXT = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
STUDY, SEARCH = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def test_the_study_is_one(tmp_path):
    """2 scenarios x 4 engines x 7 x 5 x 5 x 2 linked x 2 strategies, less what two constraints
    leave out.
    """
    plan = make_plan(write(tmp_path, STUDY))
    assert len(plan.indices) + plan.left_out == 2 * 4 * 7 * 5 * 5 * 2 * 2
    memory = next(axis for axis in plan.axes if axis.path == "gpu.memory_side_cache.capacity")
    assert memory.values == tuple(mib * 2**20 for mib in (64, 128, 256, 512, 1024))
    engines = {
        (dict(plan.point(n).settings)["gpu.dma_engines.count"], plan.point(n).strategy)
        for n in range(0, len(plan.indices), 11)
    }
    assert ("16", "conccl") not in engines and (2, "base") in engines and (4, "base") not in engines


def test_the_search_belongs_to_it(tmp_path):
    loaded = open_study(write(tmp_path, STUDY + SEARCH))
    assert loaded.study.search.trials == 200
    make_setup(loaded)


def test_commands_exist():
    known = {*typer.main.get_command(app).list_commands(None)}
    assert set(re.findall(r"^c3sim (\w+)", TEXT, re.MULTILINE)) <= known


def test_pictures_and_links_are_there():
    targets = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert (
        targets
        and [target for target in targets if not (ROOT / "docs" / target.split("#")[0]).exists()]
        == []
    )


def test_the_packaged_example_can_be_planned():
    """Two scenarios, 6 x 3 engines for conccl, and base once each."""
    assert len(make_plan("engine-sizing").indices) == 2 * (6 * 3 + 1)
