"""A node of one's own, from an empty folder: a file written, shown, changed, run."""

import json

import pytest
from cli_case import files

from c3sim.spec.reading.hardware import load_hardware
from c3sim.spec.reading.library import names

ALWAYS = ("teaching-4", "mi355x-2", "gb200-72", "h100-cluster")  # of one kind each


@pytest.mark.parametrize("node", ALWAYS)
def test_a_new_node_is_the_one_it_is_like(cli, node):
    assert cli("new", "node", "--like", node).exit_code == 0
    mine, base = load_hardware("my-node.yaml"), load_hardware(node)
    assert mine.node.name == "my-node"
    old = {"name": node, "grade": base.node.grade}  # a grade is of its own file alone
    assert mine.node.changed(**old) == base.node


def test_its_comments_are_fields_with_the_values_of_now(cli, empty):
    """Without their marks they change nothing but the sources."""
    cli("new", "node", "rack", "--like", "mi300x-8")
    text = (empty / "rack.yaml").read_text()
    fields = text.partition("as it is there:\n")[2]
    (empty / "rack.yaml").write_text(text.replace(fields, fields.replace("# ", "")))
    mine, base = load_hardware("rack.yaml"), load_hardware("mi300x-8")
    old = {"name": "mi300x-8", "grade": base.node.grade}  # a grade is of its own file alone
    assert mine.node.changed(**old) == base.node
    own = [path for path, leaf in mine.provenance.items() if leaf.source == "your data sheet"]
    assert {"gpus", "links.bandwidth", "gpu.hbm.bandwidth", "gpu.clock.power_limit"} <= set(own)


def test_a_new_gpu_is_shown_and_named_by_a_node(cli, empty):
    assert cli("new", "gpu", "--like", "mi300x").exit_code == 0
    rows = json.loads(cli("show", "my-gpu.yaml", "--json").stdout)["values"]
    assert {row["like"] for row in rows} == {"", "mi300x"}
    assert all(row["path"].startswith("gpu.") for row in rows)
    (empty / "n.yaml").write_text("schema: 2\nlike: mi300x-8\ngpu: my-gpu.yaml\n")
    assert load_hardware("n.yaml").node.gpu.name == "my-gpu"


def test_a_file_that_is_there_is_kept(cli, empty):
    (empty / "my-node.yaml").write_text("mine")
    result = cli("new", "node", "--like", "mi300x-8")
    assert (result.exit_code, result.stderr.strip()) == (
        2,
        "my-node.yaml: is there already; --force replaces it",
    )
    assert (empty / "my-node.yaml").read_text() == "mine"
    assert cli("new", "node", "--like", "mi300x-8", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("node",), "--like: which node is it like? For instance mi300x-8"),
        (("node", "--like", "mi300x"), "'mi300x' is a gpu, no node; did you mean 'mi300x-8'?"),
        (("gpu", "--like", "mi300x-8"), "'mi300x-8' is a node, no gpu; did you mean 'mi300x'?"),
    ],
)
def test_what_it_cannot_be_like(cli, empty, arguments, said):
    result = cli("new", *arguments)
    assert result.exit_code == 2 and result.stderr.startswith(said)
    assert files(empty) == []


def test_show_says_what_came_from_where(cli, empty):
    (empty / "n.yaml").write_text(
        "schema: 2\nlike: mi300x-8\nlinks: {latency: {value: 1 us, source: me}}\n"
    )
    rows = {
        row["path"]: row for row in json.loads(cli("show", "n.yaml", "--json").stdout)["values"]
    }
    assert (rows["links.latency"]["like"], rows["links.latency"]["source"]) == ("", "me")
    assert rows["links.bandwidth"]["like"] == "mi300x-8"
    assert " like " in cli("show", "n.yaml").stdout
    assert " like " not in cli("show", "teaching-4").stdout.partition("\n")[2]


# Settings in files, and a node written out --------------------------------------------------------


SETTINGS = """\
links: {raw_bandwidth: 100 GB/s, bandwidth: {value: 76 GB/s, source: data sheet}}
gpu.hbm.bandwidth: 8 TB/s
task.gather.channels: 16
"""


def test_settings_of_a_file_are_those_of_the_command_line(cli, pair, empty):
    (empty / "s.yaml").write_text(SETTINGS)
    values = ("links.raw_bandwidth=100 GB/s", "links.bandwidth=76 GB/s", "gpu.hbm.bandwidth=8 TB/s")
    by_hand = [f"--set={each}" for each in values]
    one = cli("run", pair, "--json", "--set", "s.yaml")
    other = cli("run", pair, "--json", *by_hand, "--set", "task.gather.channels=16")
    assert one.exit_code == 0 and one.stdout == other.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpus: 8\nlinks: {bandwith: 1}", "s.yaml:2: links.bandwith: unknown path"),
        ("gpus: 8\nlinks.latency: 3", "s.yaml:2: links.latency: 3 has no unit"),
        ("- gpus", "s.yaml:1: is no mapping of fields"),
        ("schema: 2\nlike: mi300x-8", "s.yaml:1: has a schema, so it is no file of settings"),
    ],
)
def test_a_mistake_in_a_file_of_settings_has_its_line(cli, pair, empty, text, said):
    (empty / "s.yaml").write_text(text)
    result = cli("run", pair, "--set", "s.yaml")
    assert result.exit_code == 2 and result.stderr.startswith(said), result.stderr


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(node, marks=() if node in ALWAYS else pytest.mark.long)
        for node in names("node")
    ],
)
def test_a_node_written_out_is_the_same_node(cli, empty, node):
    """Values, sources, intervals and fits are what they were."""
    (empty / "r.yaml").write_text(cli("show", node, "--resolved").stdout)
    read, base = load_hardware("r.yaml"), load_hardware(node)
    assert read.node.model_dump_json() == base.node.model_dump_json() and not read.like
    said = ("value", "unit", "source", "interval", "calibrated", "fitted", "note", "estimate")
    for path, leaf in base.provenance.items():
        other = read.provenance[path]
        assert [getattr(leaf, key) for key in said] == [getattr(other, key) for key in said], path
    assert read.provenance.keys() == base.provenance.keys()


def test_a_node_written_out_with_settings_runs_as_with_them(cli, pair, empty):
    (empty / "s.yaml").write_text(SETTINGS.replace("task.gather.channels: 16\n", ""))
    (empty / "r.yaml").write_text(cli("show", "mi300x-8", "--set", "s.yaml", "--resolved").stdout)
    assert load_hardware("r.yaml").provenance["links.bandwidth"].source == "set by hand"
    wall, same = (
        json.loads(cli("run", pair, "--json", *options).stdout)["wall_s"]
        for options in (("--set", "s.yaml"), ("--node", "r.yaml"))
    )
    assert wall == same


def test_a_value_of_a_workload_is_not_left_out_in_silence(cli, empty):
    (empty / "s.yaml").write_text(SETTINGS)
    result = cli("show", "mi300x-8", "--set", "s.yaml", "--resolved")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("s.yaml:3: task.gather.channels: is a value of a workload")


def test_only_nodes_are_written_out(cli):
    result = cli("show", "gemm-beside-all-gather", "--resolved")
    assert result.exit_code == 2 and "--resolved are for nodes" in result.stderr
    assert cli("show", "mi300x-8", "--resolved", "--json").exit_code == 2
