"""Iterations on the command line: run, compare, list, show, schema, mistakes."""

import json

import pytest

import c3sim

pytestmark = pytest.mark.turns(5)

DESCRIPTION = """\
schema: 1
kind: iteration
name: mine
node: h200-2
model: llama-3-8b
layers: 3
tokens: 2048
optimizer: adamw
parallel: {kind: fsdp, prefetch: 2}
"""


CLASSES = [
    *("gemm", "attention", "normalisation", "elementwise", "embedding", "optimizer"),
    "communication",
]


#: The same without a backward pass, for what runs it a hundred times.
SHORT = DESCRIPTION.replace("adamw", "none").replace("layers: 3", "layers: 2\nphase: forward")
SHORTER = SHORT.replace("layers: 2", "layers: 1")


ONE = ("--jobs", "1", "--json")


def written(folder, name, text):
    """The path of a file with *text*."""
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return str(path)


def test_run_says_where_the_time_went(cli, tmp_path):
    mine = written(tmp_path, "mine", DESCRIPTION.replace("layers: 3", "layers: 2"))
    data = json.loads(cli("run", mine, "--json").stdout)
    assert list(data["classes"]) == CLASSES
    assert set(data["classes"]["gemm"]) == {"busy_s", "exposed_s"}
    for key in ("compute_s", "communication_s", "exposed_s", "stretched_s", "tokens_per_s"):
        assert data[key] > 0, key
    assert 0 < data["mfu"] < 1 and data["fits"] is True and data["memory_bytes"] > 1e9
    text = cli("run", mine).stdout
    assert "exposed communication" in text and "gemm" in text


def test_fields_of_the_description_and_of_the_node_can_be_set(cli, tmp_path):
    mine = written(tmp_path, "mine", SHORT)

    def wall(*settings):
        options = [part for setting in settings for part in ("--set", setting)]
        return json.loads(cli("run", mine, "--json", *options).stdout)["wall_s"]

    plain = wall()
    assert wall("batch=2") > 1.5 * plain
    assert wall("parallel.prefetch=0") > plain
    assert wall("links.bandwidth=5 GB/s") > plain
    assert wall("task.gather-1-gather.channels=2") > plain


def test_packaged_ones_are_listed_and_shown(cli):
    names = [entry["name"] for entry in json.loads(cli("list", "--json").stdout)["iterations"]]
    assert {"bert-large-training", "llama3-405b-training", "dlrm-training"} <= set(names)
    shown = cli("show", "mixtral-prefill").stdout
    assert "iteration mixtral-prefill" in shown and "{kind: expert}" in shown
    assert "46,702,792,704 parameters" in shown
    schema = json.loads(cli("schema", "iteration").stdout)
    assert {"model", "parallel", "phase"} <= schema["properties"].keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("phase", "phases"), "unknown field"),
        (("tokens: 2048", "tokens: 2048\ncontext: 5"), "context is for decode"),
        (("kind: fsdp, prefetch: 2", "kind: fdsp"), "did you mean 'fsdp'"),
        (("model: llama-3-8b", "model: llama-3-9b"), "did you mean 'llama-3-8b'"),
        (("layers: 3", "layers: 33"), "has 32 layers"),
        (("tokens: 2048", "batch: 2"), "how many tokens a sequence has"),
        (("tokens: 2048", "tokens: 2048\nbatch: 9000000"), "must be less than"),
        (("tokens: 2048", "tokens: 2048\nprofile: frame"), "did you mean 'framework'"),
    ],
)
def test_a_mistake_names_file_and_line(cli, tmp_path, change, message):
    text = DESCRIPTION.replace("tokens: 2048", "tokens: 2048\nphase: training")
    mine = written(tmp_path, "mine", text.replace(*change))
    result = cli("run", mine)
    assert result.exit_code == 2 and message in result.stderr, result.stderr
    assert "mine.yaml:" in result.stderr


def test_an_explanation_splits_wall_exposed_and_classes_by_cause(cli, tmp_path):
    """Parts taken away one by one, averaged over all orders, add up to the whole."""
    mine = written(tmp_path, "mine", SHORT)
    data = c3sim.explain(mine).to_dict()
    run = json.loads(cli("run", mine, "--json").stdout)
    parts = data["parts"]
    assert {"wall", "exposed", "gemm", "communication"} <= parts.keys()
    for name, part in parts.items():
        total = part["unshared_s"] + sum(part["causes_s"].values())
        assert total == pytest.approx(part["time_s"]), name
    assert parts["wall"]["time_s"] == run["wall_s"]
    # less the gaps of computing alone, which an explanation runs with another clock: end less busy
    # is the same time, rounded elsewhere
    assert parts["exposed"]["time_s"] == pytest.approx(run["exposed_s"], rel=1e-12)
    assert parts["gemm"]["time_s"] == run["classes"]["gemm"]["busy_s"]
    # GEMMs and all-gathers share compute units: without that GEMMs are quicker
    assert parts["gemm"]["removal_s"]["compute_units"] > 0


def test_an_explanation_is_the_same_from_several_processes(cli, tmp_path):
    mine = written(tmp_path, "mine", SHORTER.replace("2048", "256\nlaunch: graph"))
    one, two = (cli("explain", mine, "--yes", "--jobs", count) for count in ("1", "2"))
    assert one.stdout == two.stdout and one.exit_code == two.exit_code == 0, one.stderr
    places = [one.stdout.index(text) for text in ("operator class", "nothing shared", "what binds")]
    assert places == sorted(places)  # as it is, causes, limits


#: Of communication, of the step and the node, of GEMMs; each command has its own way to them.
WHAT_IFS = [
    ("tasks[kind=collective].channels=2", "tasks[kind=collective].chunks=2"),
    ("parallel.prefetch=0", "links.bandwidth=5 GB/s", "stream.communication.priority=1"),
    (
        "gpu.dies.shader_engines=[12]",
        "tasks[kind=gemm].library=cublas",
        "tasks[kind=gemm].lds=200 KiB",
    ),
]


@pytest.mark.parametrize("what_ifs", WHAT_IFS)
def test_what_ifs_reach_every_command(cli, tmp_path, what_ifs):
    mine = written(tmp_path, "mine", SHORTER.replace("2048", "512"))
    sets = [word for each in what_ifs for word in ("--set", each)]
    one = json.loads(cli("run", mine, "--json", *sets).stdout)
    two = json.loads(cli("compare", mine, "--json", "--strategies", "as_written", *sets).stdout)
    assert one["wall_s"] == two["strategies"]["as_written"]["wall_s"] > 0


STUDY = """\
schema: 1
kind: sweep
name: iteration-study
node: h200-2
workload: {workload}
axes:
  "tasks[kind=collective].channels": [2, 16]
strategies: [as_written]
outputs: [wall, exposed_s, tokens_per_s, classes.gemm.busy_s]
search:
  knobs: {{"tasks[kind=collective].channels": [2, 16]}}
  objectives: {{wall_s: minimise}}
  trials: 2
"""


def test_sweep_study_and_optimise_take_an_iteration(cli, tmp_path, few_draws):
    mine = written(tmp_path, "mine", SHORTER.replace("2048", "512"))
    study = written(tmp_path, "study", STUDY.format(workload=mine))
    rows = json.loads(cli("sweep", study, "--out", str(tmp_path / "s"), *ONE).stdout)["rows"]
    assert [row["error"] for row in rows] == [None] * 2
    few = next(row for row in rows if row["tasks[kind=collective].channels"] == 2)
    sets = ("--set", "tasks[kind=collective].channels=2")
    again = json.loads(cli("run", mine, "--json", *sets).stdout)
    assert few["wall_s"] == again["wall_s"] and few["tokens_per_s"] == again["tokens_per_s"]
    assert few["classes.gemm.busy_s"] == again["classes"]["gemm"]["busy_s"]
    assert len(json.loads(cli("study", study, *ONE).stdout)) > 0
    best = json.loads(cli("optimise", study, *ONE).stdout)
    assert "16" in json.dumps(best["front"])


def test_the_band_of_an_iteration(cli, tmp_path):
    mine = written(tmp_path, "mine", SHORTER)
    data = json.loads(cli("run", mine, "--json", "--uncertainty", "--samples", "3").stdout)
    band = data["uncertainty"]
    assert band["wall_s"]["p5"] < band["wall_s"]["p95"] and band["exposed_s"]["p95"] > 0
