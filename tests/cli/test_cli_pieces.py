"""Workloads with a schedule on the command line."""

import json

import yaml

NAME = "gemm-behind-all-gather-in-pieces"


def test_the_schedule_is_written_out_as_a_workload_that_runs_alike(cli, empty):
    text = cli("show", NAME, "--resolved").stdout
    assert list(yaml.safe_load(text)["tasks"])[:3] == ["gather-0", "gemm-own", "gemm-0"]
    (empty / "out.yaml").write_text(text)
    walls = {json.loads(cli("run", name, "--json").stdout)["wall_s"] for name in (NAME, "out.yaml")}
    assert len(walls) == 1


def test_values_of_a_schedule_can_be_set(cli):
    result = cli("run", NAME, "--set", "workload.schedule.pieces=16")
    assert "gather-* (16)" in result.stdout and "gemm-* (16)" in result.stdout
    wrong = cli("run", NAME, "--set", "workload.schedule.pieces=3")
    assert wrong.exit_code == 2
    assert wrong.stderr == (
        "schedule: m = 8192 of 'gemm' is no multiple of 24 (8 shards of 3 pieces)\n"
    )


def test_a_split_that_cannot_be_names_its_line(cli, empty):
    tasks = [
        "  gather: {kind: collective, op: all_gather, size: 1 MiB}",
        "  gemm: {kind: gemm, m: 100, n: 128, k: 128, after: [gather]}",
    ]
    lines = ["schema: 1", "name: w", "tasks:", *tasks, "schedule: {pieces: 2}"]
    (empty / "w.yaml").write_text("\n".join(lines) + "\n")
    result = cli("run", "w.yaml")
    assert result.exit_code == 2
    assert result.stderr.startswith("w.yaml:6: schedule: m = 100 of 'gemm' is no multiple of 16")


def test_strategies_move_the_pieces(cli):
    printed = cli("compare", NAME, "--strategies", "as_written,base", "--json").stdout
    found = json.loads(printed)["strategies"]
    assert set(found) == {"as_written", "base"}
    assert all("gather-3" in row["tasks"] for row in found.values())
