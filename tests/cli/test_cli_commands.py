"""Every command once: what it prints, and that ``--json`` holds what is promised."""

import json

import pytest
import typer

from c3sim import __version__
from c3sim.cli.app import app
from c3sim.evaluation.strategies.table import STRATEGIES

#: The promise of docs/compatibility.md: ``run --json`` has at least these.
RUN = {
    "workload",
    "node",
    "strategy",
    "wall_s",
    "serial_s",
    "ideal_speedup",
    "speedup",
    "fraction_of_ideal",
    "own_fraction",
    "energy_j",
    "tasks",
}
TASK = {"isolated_s", "start_s", "end_s", "time_s", "slowdown"}
COMMANDS = ("list", "show", "run", "compare", "explain", "study", "schema", "upgrade")


def data_of(result):
    """The JSON document on standard output, nothing else beside it."""
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_version(cli):
    assert cli("--version").stdout == f"c3sim {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(cli, command):
    result = cli(command, "--help")
    assert result.exit_code == 0
    assert "Examples:\n" in result.stdout and f"    c3sim {command} " in result.stdout
    assert "--json" in result.stdout


def test_help_names_every_command(cli):
    text = cli("--help").stdout
    assert all(f"\n  {command} " in text for command in COMMANDS)


def test_help_fits_80_columns(cli, monkeypatch):
    """Of every command, and of those below one: examples and tables in it are not wrapped."""
    monkeypatch.setenv("COLUMNS", "80")
    asked = [[name] for name in typer.main.get_command(app).list_commands(None)]
    for words in ([], *asked, *(["probe", name] for name in ("build", "plans", "run"))):
        lines = cli(*words, "--help").stdout.splitlines()
        assert max(map(len, lines)) <= 80, words


# list and show ------------------------------------------------------------------------------------
# ---------------


def test_list_names_everything(cli):
    found = data_of(cli("list", "--json"))
    kinds = ["nodes", "gpus", "workloads", "iterations", "studies", "models", "strategies"]
    assert list(found) == kinds
    assert {"mi300x-8", "teaching-4"} <= {entry["name"] for entry in found["nodes"]}
    assert [entry["name"] for entry in found["strategies"]] == list(STRATEGIES)
    assert all(entry["description"] for entries in found.values() for entry in entries)
    assert not any(
        "does not load" in entry["description"] for entries in found.values() for entry in entries
    )


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("nodes", "mi300x-8"),
        ("workloads", "gemm-alone"),
        ("studies", "conccl"),
        ("models", "llama-3-8b"),
        ("strategies", "conccl_rp"),
    ],
)
def test_list_of_one_kind(cli, what, name):
    assert name in cli("list", what).stdout
    assert list(data_of(cli("list", what, "--json"))) == [what]


def test_show_a_node_with_sources_and_intervals(cli):
    found = data_of(cli("show", "mi300x-8", "--json"))
    rows = {row["path"]: row for row in found["values"]}
    assert found["kind"] == "node"
    links = rows["links.bandwidth"]
    assert links["unit"] == "B/s" and links["source"]
    assert links["interval"][0] <= links["value"] <= links["interval"][1]
    assert rows["gpu.hbm.capacity"]["value"] == 192 * 2**30
    text = cli("show", "mi300x-8").stdout
    assert "links.bandwidth" in text and links["text"] in text and "interval" in text


def test_show_a_workload_with_its_defaults(cli, pair):
    rows = {row["path"]: row for row in data_of(cli("show", pair, "--json"))["values"]}
    assert (rows["task.gemm.m"]["value"], rows["task.gemm.m"]["source"]) == (4096, "line 4")
    assert (rows["task.gemm.library"]["value"], rows["task.gemm.library"]["source"]) == (
        None,
        "default",
    )
    assert (rows["task.gather.size"]["text"], rows["task.gather.size"]["unit"]) == ("64 MiB", "B")
    assert "task.gather.size" in cli("show", pair).stdout


def test_show_writes_accesses_of_a_kernel_as_json(cli, empty):
    kernel = {"kind": "kernel", "workgroups": 8, "accesses": [{"bytes": "1 MiB", "stores": True}]}
    said = {"schema": 1, "name": "k", "node": "teaching-4", "tasks": {"norm": kernel}}
    (empty / "k.yaml").write_text(json.dumps(said))
    rows = {row["path"]: row for row in data_of(cli("show", "k.yaml", "--json"))["values"]}
    (access,) = rows["task.norm.accesses"]["value"]
    assert (access["bytes"], access["stores"]) == (2**20, True)


@pytest.mark.parametrize(
    ("name", "kind"), [("conccl", "study"), ("gemm-alone", "workload"), ("rp", "strategy")]
)
def test_show_other_kinds(cli, name, kind):
    found = data_of(cli("show", name, "--json"))
    assert (found["kind"], found["name"]) == (kind, name)
    assert cli("show", name).stdout.startswith(f"{kind} {name}\n")


# run, compare, explain
# -------------------------------------------------------------------------------------------


def test_run_has_what_is_promised(cli, pair):
    found = data_of(cli("run", pair, "--json"))
    assert set(found) >= RUN
    assert set(found["tasks"]) == {"gemm", "gather"}
    assert all(set(task) >= TASK for task in found["tasks"].values())
    assert found["wall_s"] == max(task["end_s"] for task in found["tasks"].values())


def test_run_prints_a_table(cli, pair):
    lines = cli("run", pair, "--strategy", "sp").stdout.splitlines()
    assert lines[0] == "pair on mi300x-8, strategy sp"
    assert lines[1].startswith("wall ") and any(line.startswith("gather") for line in lines)


def test_run_writes_trace_and_picture(cli, pair, empty):
    result = cli("run", pair, "--trace", "run.pftrace", "--plot", "run.png", "--json")
    assert json.loads(result.stdout)["workload"] == "pair"
    assert result.stderr.splitlines() == [
        "wrote run.pftrace; open it at https://ui.perfetto.dev",
        "wrote run.png",
    ]
    assert (empty / "run.png").read_bytes().startswith(b"\x89PNG")
    assert (empty / "run.pftrace").stat().st_size > 1000


def test_a_page_of_one_run(cli, pair, empty):
    """By its suffix; it holds the run and asks for nothing."""
    result = cli("run", pair, "--plot", "run.html")
    assert result.exit_code == 0 and "wrote run.html" in result.stderr
    page = (empty / "run.html").read_text(encoding="utf-8")
    assert '"tracks":' in page and '<main id="run">' in page and "src=" not in page


def test_compare_all_that_apply(cli, pair):
    found = data_of(cli("compare", pair, "--json"))
    assert list(found["strategies"]) == list(STRATEGIES)
    assert all(set(entry) >= RUN for entry in found["strategies"].values())
    assert "fastest: " in cli("compare", pair).stdout


def test_explain_adds_up(cli, pair, few_limits):
    found = data_of(cli("explain", pair, "--strategy", "sp", "--json"))
    assert found["strategy"] == "sp"
    for task in found["tasks"].values():
        assert task["slowdown"] == pytest.approx(
            1 + sum(task["causes"].values()) + task["left_over"]
        )


@pytest.mark.parametrize("kind", ["workload", "study"])
def test_schema(cli, kind):
    found = data_of(cli("schema", kind))
    assert found["title"] == f"c3sim {kind}" and found["$schema"].endswith("2020-12/schema")
