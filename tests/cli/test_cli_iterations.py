"""Iterations on the command line: run, compare, list, show, schema, mistakes."""

import json

import pytest

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
IN_PLACE = """\
schema: 1
kind: iteration
name: own
node: h200-2
model: {layers: 2, hidden: 1024, heads: 8, kv_heads: 8, head_dim: 128, ffn: 4096, vocab: 1000}
tokens: 512
"""
CLASSES = [
    *("gemm", "attention", "normalisation", "elementwise", "embedding", "optimizer"),
    "communication",
]


def written(folder, name, text):
    """The path of a file with *text*."""
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return str(path)


def test_run_says_where_the_time_went(cli, tmp_path):
    mine = written(tmp_path, "mine", DESCRIPTION)
    data = json.loads(cli("run", mine, "--json").stdout)
    assert list(data["classes"]) == CLASSES
    assert set(data["classes"]["gemm"]) == {"busy_s", "exposed_s"}
    for key in ("compute_s", "communication_s", "exposed_s", "stretched_s", "tokens_per_s"):
        assert data[key] > 0, key
    assert 0 < data["mfu"] < 1 and data["fits"] is True and data["memory_bytes"] > 1e9
    text = cli("run", mine).stdout
    assert "exposed communication" in text and "gemm" in text


def test_fields_of_the_description_and_of_the_node_can_be_set(cli, tmp_path):
    mine = written(tmp_path, "mine", DESCRIPTION)

    def wall(*settings):
        options = [part for setting in settings for part in ("--set", setting)]
        return json.loads(cli("run", mine, "--json", *options).stdout)["wall_s"]

    plain = wall()
    assert wall("batch=2") > 1.5 * plain
    assert wall("parallel.prefetch=0") > plain
    assert wall("links.bandwidth=5 GB/s") > plain
    assert wall("task.gather-1-gather.channels=2") > plain


def test_a_model_may_stand_in_place(cli, tmp_path):
    own = written(tmp_path, "own", IN_PLACE)
    data = json.loads(cli("run", own, "--json").stdout)
    assert data["layers"] == 2 and data["wall_s"] > 0


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
        (("tokens: 2048", "tokens: 2048\nprofile: frame"), "did you mean 'framework'"),
    ],
)
def test_a_mistake_names_file_and_line(cli, tmp_path, change, message):
    text = DESCRIPTION.replace("tokens: 2048", "tokens: 2048\nphase: training")
    mine = written(tmp_path, "mine", text.replace(*change))
    result = cli("run", mine)
    assert result.exit_code == 2 and message in result.stderr, result.stderr
    assert "mine.yaml:" in result.stderr


def test_what_takes_workloads_only_says_so(cli):
    result = cli("explain", "llama3-8b-forward")
    assert result.exit_code == 2 and "is an iteration; run and compare take it" in result.stderr


def test_strategies_are_compared_on_an_iteration(cli, tmp_path):
    mine = written(tmp_path, "mine", DESCRIPTION.replace("h200-2", "mi300x-8"))
    chosen = "as_written,conccl"
    data = json.loads(
        cli(
            "compare",
            mine,
            "--strategies",
            chosen,
            "--set",
            "optimizer=none",
            "--set",
            "phase=forward",
            "--json",
        ).stdout
    )
    plain, engines = (data["strategies"][name]["wall_s"] for name in ("as_written", "conccl"))
    assert plain != engines
