"""``c3sim study`` on serving: tables with units, the claims in words, files and a picture."""

import json
from pathlib import Path

import pytest

MINE = """\
schema: 1
name: mine
serving: {prompt_tokens: 1024, output_tokens: 4, requests: 1}
kind: kv_fetch
axes: {serving.hit_rate: [0.5, 1], serving.requests: [1, 4]}
"""


@pytest.fixture
def mine(empty):
    Path("mine.yaml").write_text(MINE, encoding="utf-8")
    return "mine.yaml"


def test_tables_files_and_picture(cli, mine, empty):
    result = cli("study", mine, "--out", "results")
    assert result.exit_code == 0, result.stderr
    assert "one copy from host memory" in result.stdout and "(us)" in result.stdout
    assert "one request on mi300x-8: time to first token" in result.stdout
    assert "why: a batch takes the waiting of one copy for the other away" in result.stdout
    assert sorted(path.name for path in Path("results").iterdir()) == [
        "mine.json",
        "mine.png",
        "mine.txt",
    ]


def test_set_and_json(cli, mine):
    result = cli(
        "study",
        mine,
        "--set",
        "serving.hit_rate=1",
        "--set",
        "gpu.dma_engines.bandwidth=20 GB/s",
        "--json",
    )
    found = json.loads(result.stdout)
    assert [row["requests"] for row in found["rows"]] == [1, 4]
    assert found["copies"][0]["per_copy_s"]["batched_pl"] > 65536 / 20e9


@pytest.mark.slow
def test_the_packaged_study_says_what_is_published_and_where_it_is_reached(cli):
    arguments = [
        "--set",
        "serving.prompt_tokens=2048",
        "--set",
        "serving.hit_rate=1",
        "--set",
        "serving.output_tokens=4",
    ]
    text = " ".join(cli("study", "kv-fetch", *arguments).stdout.split())
    assert "latency: published up to 1.5x lower latency, 1.65x in a later version" in text
    assert "throughput: published up to 1.9x higher throughput than vLLM" in text
    assert "never with 640 KiB, 2 MiB blocks" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "serving.hit_rate"], "'serving.hit_rate' is not a setting; write PATH=VALUE"),
        (
            ["--set", "serving.load=sync"],
            "serving.load: unknown value 'sync'; did you mean 'async'?",
        ),
        (["--plot", "kv.jpg"], "unknown suffix '.jpg'"),
    ],
)
def test_mistakes_are_one_line(cli, mine, arguments, message):
    result = cli("study", mine, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_models_are_listed_and_shown(cli):
    assert "mixtral-8x7b" in cli("list", "models").stdout
    shown = json.loads(cli("show", "llama-3-8b", "--json").stdout)
    assert (shown["kind"], shown["layers"], shown["kv_bytes"]) == ("model", 32, 4096)
