"""The what-if on the command line: what binds, and what changed from another run."""

import json

import pytest

pytestmark = pytest.mark.turns(5)

PAIR = "gemm-beside-all-gather"


def test_explain_and_run_say_what_binds(cli):
    explained = cli("explain", "gemm-alone")
    for words in ("where the time went", "bound by", "gemm alone"):
        assert words in explained.stdout
    found = json.loads(cli("explain", "gemm-alone", "--json").stdout)["limits"]
    assert found["gemm alone"]["path"] == found["wall"]["path"] == "gpu.clock.power_limit"
    last = cli("run", "gemm-alone").stdout.splitlines()[-1]
    assert last.startswith("wall bound by gpu.clock.power_limit (") and "; next gpu." in last


def test_show_has_the_totals_of_a_gpu(cli, empty):
    """7 links of 48.5 GB/s are 339.5; what a file takes over and does not scale is listed."""
    (empty / "n.yaml").write_text(
        "schema: 2\nlike: mi300x-8\nlinks: {raw_bandwidth: {value: 128 GB/s, source: test}}\n"
    )
    data = json.loads(cli("show", "n.yaml", "--json").stdout)
    totals = {each["name"]: each["value"] for each in data["totals"]}
    assert totals["links of a GPU, a direction"] == pytest.approx(2 * 339.5e9)
    engine = data["binding"][0]
    assert engine["binds"] == "gpu.dma_engines.bytes_in_flight"
    taken = {each["path"]: each["factor"] for each in data["inherited"]}
    assert taken["gpu.dma_engines.bandwidth"] == 2 and taken[engine["binds"]] is None
    shown = " ".join(cli("show", "n.yaml").stdout.split())
    assert "bound by gpu.dma_engines.bytes_in_flight (52.6 GB/s), taken over from mi300x-8" in shown
    assert "inherited from mi300x, given at links.bandwidth 48.5 GB/s (here 97 GB/s)" in shown
    notes = json.loads(cli("run", "gemm-alone", "--node", "n.yaml", "--json").stdout)["notes"]
    assert any(note.startswith("scaled to the numbers of this node") for note in notes)


def test_new_says_what_follows_a_number(cli, empty):
    cli("new", "node", "--like", "h200-2")
    text = (empty / "my-node.yaml").read_text()
    assert "#: scaled with it: gpu.dma_engines.local_bandwidth" in text
    assert "#: of one link, one direction; c3sim show has the total of a GPU" in text


def test_against_settings(cli):
    """The band of the change is narrower than that of the wall time: most of what is not known of
    one run is not known of the other.
    """
    texts = ["run", PAIR, "--set", "links.bandwidth=60 GB/s", "--json"]
    run = json.loads(cli(*texts, "--against", "unset", "--uncertainty", "--samples", "24").stdout)
    found, own = run["against"], run["uncertainty"]["wall_s"]
    assert found["times"]["wall"]["after"] == run["wall_s"]
    assert found["band"]["p5"] < found["band"]["p95"] < 0 and found["draws"] == 64
    assert found["band"]["p95"] - found["band"]["p5"] < own["p95"] - own["p5"]


def test_against_a_saved_run_by_two_numbers(cli, empty):
    both = ["--set", "links.bandwidth=60 GB/s", "--set", "gpu.hbm.bandwidth=6 TB/s"]
    (empty / "old.json").write_text(cli("run", PAIR, "--json").stdout)
    run = json.loads(cli("run", PAIR, *both, "--against", "old.json", "--json").stdout)
    found = run["against"]
    assert sum(found["numbers"].values()) == pytest.approx(found["times"]["wall"]["change"])
    assert abs(found["numbers"]["links.bandwidth"]) > abs(found["numbers"]["gpu.hbm.bandwidth"])


def test_compare_and_explain_against(cli, few_draws):
    shown = cli("compare", PAIR, "--strategies", "base,conccl", "--against", "links.latency=1 us")
    assert "against: links.latency 1 us -> as in the files; band of conccl" in shown.stdout
    options = ("--against", "gpu.clock.power_limit=500 W", "--json")
    wall = json.loads(cli("explain", "gemm-alone", *options).stdout)["against"]["times"]["wall"]
    assert wall["change"] < 0 and sum(wall["parts"].values()) == pytest.approx(wall["change"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sidewise", "'sidewise' is neither a run's .json, PATH=VALUE, a node, a strategy"),
        ("none.json", "none.json: cannot be read"),
        ("links.bandwith=1 GB/s", "links.bandwith: unknown path"),
        ("half.json", "half.json: is no saved run; save one by: c3sim run ... --json"),
        ("number.json", "number.json: given: does not say what was run"),
        ("list.json", "list.json: given: does not say what was run"),
        ("deep.json", "deep.json: is not JSON"),
        ("huge.json", "huge.json: is no saved run; save one by: c3sim run ... --json (its times"),
        ("empty.json", "empty.json: is no saved run; save one by: c3sim run ... --json (its times"),
    ],
)
def test_a_mistake_is_one_line(cli, empty, text, said):
    (empty / "half.json").write_text("{}")
    (empty / "deep.json").write_text("[" * 100_000)  # deeper than a reader goes
    times = {"wall_s": 2.0, "exposed_s": 1.0, "stretched_s": 0.0, "tasks": {}, "given": {}}
    whole = {**dict.fromkeys(("time_s", "isolated_s", "predecessors_s", "room_s"), 1.0)}
    given = {"workload": PAIR, "node": None, "strategy": "as_written", "set": ["x"]}
    (empty / "list.json").write_text(json.dumps({**times, "given": given}))
    numbered = {**given, "workload": 0, "set": {}}
    (empty / "number.json").write_text(json.dumps({**times, "given": numbered}))
    times["tasks"] = {"gemm": {**whole, "slower_s": 10**400}}  # no float is so large
    (empty / "huge.json").write_text(json.dumps(times))
    times["tasks"] = {"gemm": {**whole, "time_s": [], "slower_s": 0.0}}
    (empty / "empty.json").write_text(json.dumps(times))
    commands = [("run", "gemm-alone", "--against", text)]
    commands += [("diff", text, text)] if text == "deep.json" else []
    for command in commands:
        result = cli(*command)
        assert result.exit_code == 2 and said in result.stderr and result.stderr.count("\n") == 1
