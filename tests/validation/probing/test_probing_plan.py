"""Plans: read strictly, listed completely; and bad input to ``c3sim probe``."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise, product, zip_longest

import pytest
from cli_case import invoke
from probe_case import fake_probe

from c3sim.errors import InputErrors
from c3sim.validation.probing import plan as plans
from c3sim.validation.probing.plan import load_plan, names, packaged

GOOD = """\
name: mine
description: a look
minutes: 0.5
steps:
  - name: sweep
    suite: stream
    role: calibration
    gpus: 2
    command: [stream, --bytes, "1MiB..4GiB", --samples, 20, --scale, 0.5]
  - name: gemm
    role: validation
    command: gemm --shape 64x64x64 --note 'two words'
"""


pytestmark = pytest.mark.usefixtures("here")


def run(*arguments: str):
    return invoke("probe", *arguments)


def test_words_are_passed_as_they_are_and_the_suite_is_the_name_if_not_given(here):
    (here / "p.yaml").write_text(GOOD)
    first, second = load_plan("p.yaml").steps
    assert first.words == ["stream", "--bytes", "1MiB..4GiB", "--samples", "20", "--scale", "0.5"]
    assert second.words == ["gemm", "--shape", "64x64x64", "--note", "two words"]
    assert (first.suite_name, second.suite_name, first.gpus, second.gpus) == (
        "stream",
        "gemm",
        2,
        1,
    )


MISTAKES = [
    ("role: calibration", "role: training", "p.yaml:7: steps[0].role: unknown value 'training'"),
    ("    gpus: 2", "    gpu: 2", "p.yaml:8: steps[0]: unknown field 'gpu'; did you mean 'gpus'?"),
    ("    gpus: 2", "    gpus: -1", "p.yaml:8: steps[0].gpus: got -1; must be at least 0"),
    ("minutes: 0.5", "minutes: 0", "p.yaml:3: minutes: got 0; must be greater than 0"),
    ("minutes: 0.5", "hours: 1", "unknown field 'hours'"),
    ("    command: gemm --shape 64x64x64 --note 'two words'\n", "", "missing field 'command'"),
    ("'two words'", "'two words", "No closing quotation".lower()),
    ("name: gemm", "name: sweep", "step 'sweep' is there twice"),
    ("name: gemm", "name: ../gemm", "name '../gemm' is no file name"),
    ("suite: stream", "suite: a b", "suite 'a b' is no file name"),
    (
        "command: gemm --shape 64x64x64 --note 'two words'",
        "command: ' '",
        "command of step 'gemm' is empty",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES)
def test_a_mistake_in_a_plan_has_file_and_line(here, right, wrong, message):
    assert right in GOOD
    (here / "p.yaml").write_text(GOOD.replace(right, wrong, 1))
    with pytest.raises(InputErrors) as caught:
        load_plan("p.yaml")
    lines = str(caught.value).split("\n")
    assert any(message in each for each in lines), lines
    assert all(each.startswith("p.yaml:") and each.split(":")[1].isdecimal() for each in lines)
    found = run("run", "p.yaml", "--node", "n", "--out", "out", "--probe", str(fake_probe(here)))
    assert found.exit_code == 2 and message in found.stderr
    assert not (here / "out").exists()


def test_every_packaged_plan_is_sound_and_says_what_it_measures():
    assert "quick" in names()
    for each in packaged():
        assert each.name in names() and each.description
        assert all(step.what for step in each.steps), each.name
        assert not [
            step.name for step in each.steps if step.role == "calibration" and step.words[0] == "c3"
        ]


def test_plans_are_listed_from_an_empty_folder(here):
    found = run("plans")
    assert found.exit_code == 0 and "quick" in found.stdout and os.listdir(here) == []
    listed = json.loads(run("plans", "--json").stdout)["plans"]
    assert [each["name"] for each in listed] == names()
    assert all({"description", "minutes", "gpus", "steps"} <= set(each) for each in listed)
    assert all(each["gpus"] == max(step["gpus"] for step in each["steps"]) for each in listed)


BAD = [
    (("run", "quik", "--node", "n", "--out", "o"), "unknown plan 'quik'; did you mean 'quick'?"),
    (("run", "none.yaml", "--node", "n", "--out", "o"), "none.yaml: cannot be read"),
    (
        ("run", "p.yaml", "--node", "n", "--out", "o", "--only", "gem"),
        "--only: unknown step 'gem'; did you mean 'gemm'?",
    ),
    (
        ("run", "p.yaml", "--node", "n", "--out", "o", "--skip", "x"),
        "--skip: unknown step 'x'; allowed: sweep, gemm",
    ),
    (
        ("run", "p.yaml", "--node", "n", "--out", "o", "--only", "gemm", "--skip", "gemm"),
        "no step of plan 'mine' is left",
    ),
    (
        ("run", "p.yaml", "--node", "n", "--out", "o", "--probe", "gone"),
        "gone: --probe: does not exist",
    ),
    (
        ("run", "p.yaml", "--node", "n", "--out", "p.yaml"),
        "p.yaml: --out: cannot be created: file exists",
    ),
    (("machine", "--probe", "p.yaml"), "p.yaml: --probe: is not executable"),
    (("build", "--compiler", "gcc"), "--compiler: unknown compiler 'gcc'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(here, arguments, message):
    (here / "p.yaml").write_text(GOOD)
    found = run(*arguments)
    assert found.exit_code == 2, found.stdout
    assert message in found.stderr and len(found.stderr.strip().split("\n")) == 1
    assert found.stdout == ""


def test_the_machine_is_printed(here):
    found = run("machine", "--probe", str(fake_probe(here, gpus=3)))
    assert found.exit_code == 0 and found.stdout.startswith("3 GPUs")
    data = json.loads(run("machine", "--json", "--probe", str(fake_probe(here, gpus=3))).stdout)
    assert [gpu["name"] for gpu in data["gpus"]] == ["Fake"] * 3


def test_a_machine_that_cannot_be_described_is_one_line_and_exit_code_1(here):
    found = run("machine", "--probe", str(fake_probe(here, machine='{"cards": 2}')))
    assert found.exit_code == 1
    assert found.stderr == "probe machine: printed JSON without a list 'gpus'\n"


def test_plans_lie_where_the_package_ships_them():
    assert plans.PLANS.is_dir() and plans.PLANS.parent.name == "probe"


SOURCES = plans.PLANS.parent / "src" / "device"
EVERYWHERE = (SOURCES / "report.cpp").read_text(encoding="utf-8")


def options_of(step) -> dict[str, str]:
    """The options of a step's command; a flag is its own value."""
    words, found = step.words[1:], {}
    for word, following in pairwise([*words, "--"]):
        if word.startswith("--"):
            found[word[2:]] = word if following.startswith("--") else following
    return found


@pytest.mark.parametrize("name", names())
def test_the_harness_has_every_option_that_a_packaged_plan_uses(name):
    for step in load_plan(name).steps:
        source = (SOURCES / f"command_{step.words[0]}.cpp").read_text(encoding="utf-8") + EVERYWHERE
        for option in options_of(step):
            assert f'("{option}"' in source, f"{name}: {step.name}: --{option}"


def loads_of(step, option: str) -> list[str]:
    """The loads of a step with a process for each GPU, as in gemm:64x64x64."""
    return options_of(step).get(option, "none").split(",")


def test_nothing_beside_a_gemm_of_ranks_may_be_fitted_to():
    steps = [step for plan in packaged() for step in plan.steps if step.words[0] == "ranks"]
    pairs = [step for step in steps if loads_of(step, "second") != ["none"]]
    with_gemm = [step for step in pairs if any("gemm" in load for load in loads_of(step, "first"))]
    assert with_gemm and {step.role for step in with_gemm} == {"validation"}
    assert not [step for step in pairs if any("gemm" in load for load in loads_of(step, "second"))]


def test_shapes_and_sizes_of_the_held_out_ranks_are_in_no_other_plan():
    def numbers(plan) -> set[str]:
        """Shapes and sizes, as in 64x64x64 and 96MiB."""
        words = " ".join(word for step in plan.steps for word in step.words)
        return set(re.findall(r"\d+x\d+x\d+|\d+[KMG]iB", words))

    held_out = load_plan("ordinary-c3")
    used = set().union(*(numbers(plan) for plan in packaged() if plan.name != held_out.name))
    assert len(numbers(held_out)) == 8  # five shapes and three sizes
    assert not numbers(held_out) & used


#: The harness's value where a plan says nothing; how often is no condition of a record.
DEFAULTS = {
    "copy": {
        "from": "gpu",
        "to": "peer",
        "direction": "push",
        "engines": "1",
        "count": "1",
        "streams": "1",
        "submission": "one_by_one",
        "release": "gated",
        "executor": "dma",
        "workgroups": "0",
        "call": "default",
        "mapping": "malloc",
    },
    "collective": {
        "backend": "vendor",
        "channels": "0",
        "direction": "push",
        "engines": "1",
        "submission": "one_by_one",
        "release": "gated",
    },
}


def conditions(step) -> list[tuple[tuple[str, str], ...]]:
    """One for each record of a step; pairs of places are kept apart, as the harness does."""
    given = {**DEFAULTS.get(step.words[0], {}), **options_of(step)}
    given.pop("samples", None)
    ends = list(zip_longest(given.pop("from", "").split(","), given.pop("to", "").split(",")))
    lists = [[(key, each) for each in value.split(",")] for key, value in given.items()]
    return [(("ends", str(pair)), *each) for pair in ends for each in product(*lists)]


def test_nothing_is_measured_under_two_roles():
    """An id with two roles is an error of the record files."""
    roles: dict[tuple[str, tuple[tuple[str, str], ...]], set[str]] = {}
    for plan in packaged():
        for step in plan.steps:
            if plan.name != "quick":
                for each in conditions(step):
                    roles.setdefault((step.words[0], tuple(sorted(each))), set()).add(step.role)
    assert len(roles) > 1000
    assert not [key for key, found in roles.items() if len(found) > 1]


# Times of large copies, who shares what, and what the release itself costs; and calls, which a
# prelaunched run hides.
ONE_RELEASE = {
    "peer_large",
    "local_overlap",
    "host_all",
    "both_ways_small",
    "peer_batches",
    "host_batches",
}


def test_the_plan_of_the_engines_asks_every_question_of_both_releases():
    dma = load_plan("dma")
    for step in dma.steps:
        if step.words[0] == "copy" and step.name not in ONE_RELEASE:
            assert options_of(step)["release"] == "gated,eager", step.name
    assert {step.role for step in dma.steps} == {"calibration", "validation"}
    assert not [
        step.name for step in dma.steps if step.words[0] == "stress" and step.role == "calibration"
    ]
