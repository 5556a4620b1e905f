"""The command lines in the page run the same points."""

import json
import shlex

import pytest
from cli_case import invoke

from c3sim.output.page.command import arguments_of, bases, setting
from c3sim.output.page.page import models_of
from c3sim.spec.units import parse_quantity


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (48e9, "B/s", "48.0 GB/s"),
        (2.0**28, "B", "256 MiB"),
        (16.0, "", "16"),
        (0.25, "1", "0.25"),
        ("ring", "", "ring"),
        (48.123456789e9, "B/s", "48123456789 B/s"),
        (True, "", "true"),
        (None, "", "null"),
        (1e-7 / 3, "s", "3.3333333333333334e-08 s"),
    ],
)
def test_values_are_written_exactly(value, unit, text):
    assert setting(value, unit) == text
    if unit not in ("", "1"):
        assert parse_quantity(text, unit) == value


def test_what_a_scenario_sets_is_in_its_command(table):
    found = bases(table, models_of(table))
    assert found["pair"] == "gemm-beside-all-gather --node teaching-4"
    assert shlex.split(found["small </script> one"])[3:] == [
        "--set",
        "gpu.hbm.bandwidth=350 GB/s",
        "--set",
        "task.gather.size=32 MiB",
    ]


@pytest.mark.parametrize("row", [1, 20, 33])
def test_a_command_gives_the_numbers_of_its_point(table, row):
    point = table.row(row)
    axes = (
        arguments_of(column)[column.distinct().index(point[column.name])]
        for column in table.having("axis")
    )
    words = shlex.split(" ".join([bases(table, models_of(table))[point["scenario"]], *axes]))
    result = invoke("run", *words, "--strategy", point["strategy"], "--json")
    assert json.loads(result.stdout)["wall_s"] == point["wall_s"]


def test_a_workload_that_is_not_packaged_has_a_place_in_the_command(table):
    def models(row):
        workload, node, strategy = models_of(table)(row)
        return workload.changed(name="my own"), node, strategy

    assert bases(table, models)["pair"] == "FILE.yaml --node teaching-4"
