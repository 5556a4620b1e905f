"""The choice of the laboratory, as link, command line and YAML."""

import shlex
from itertools import pairwise

import pytest
import yaml

import c3sim
from c3sim.cli.options import settings
from c3sim.lab.choice import Choice, from_query

CHOICE = Choice(
    workload="gemm-beside-all-gather",
    node="teaching-4",
    strategy="rp:8",
    settings={"links.bandwidth": "20 GB/s", "tasks[kind=collective].channels": "2"},
)


def test_a_link_says_all_of_it():
    assert from_query(CHOICE.query()) == CHOICE
    assert from_query("") == Choice()


def test_the_command_line_is_read_back_as_the_same_settings():
    words = shlex.split(CHOICE.command())
    assert words[:3] == ["c3sim", "run", CHOICE.workload]
    given = [after for word, after in pairwise(words) if word == "--set"]
    assert dict(settings(given)) == CHOICE.settings
    assert words[words.index("--strategy") + 1] == "rp:8"
    assert words[words.index("--node") + 1] == "teaching-4"


def test_the_yaml_is_a_study_with_the_same_wall_time(tmp_path):
    text = CHOICE.yaml("teaching-4")
    assert yaml.safe_load(text)["scenarios"][0]["set"] == CHOICE.settings
    (tmp_path / "lab.yaml").write_text(text, encoding="utf-8")
    row = c3sim.sweep(tmp_path / "lab.yaml", tmp_path / "out", jobs=1).to_frame().iloc[0]
    run = c3sim.run(
        CHOICE.workload, node=CHOICE.node, strategy=CHOICE.strategy, set=CHOICE.settings
    )
    assert row["wall_s"] == run.wall_s


def test_a_setting_is_put_in_and_taken_away():
    more = CHOICE.setting("gpus", "2")
    assert more.settings["gpus"] == "2" and more.setting("gpus", None) == CHOICE


@pytest.mark.parametrize(
    ("other", "left"),
    [
        (CHOICE.on_workload("c3-pair"), ["links.bandwidth"]),
        (CHOICE.on_node("mi300x-8"), ["tasks[kind=collective].channels"]),
    ],
)
def test_what_belongs_to_the_one_that_went_is_dropped(other, left):
    assert list(other.settings) == left
