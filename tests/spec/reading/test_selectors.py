"""Paths that name several tasks at once."""

from __future__ import annotations

import pytest
from shapes import TEACHING

from c3sim.errors import InputError
from c3sim.spec.reading.loading import parse_workload
from c3sim.spec.reading.paths import expanded, get_value, set_value, split_setting

GATHER = {"kind": "collective", "op": "all_gather", "size": "8 MiB"}
WORKLOAD = parse_workload(
    {
        "schema": 1,
        "name": "w",
        "tasks": {
            "layer0_qkv": {"kind": "gemm", "m": 256, "n": 256, "k": 256},
            "layer1_qkv": {"kind": "gemm", "m": 256, "n": 256, "k": 256, "dtype": "fp16"},
            "gather": GATHER,
            "reduce": {**GATHER, "op": "all_reduce"},
        },
    }
)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("tasks[kind=collective].channels", ["gather", "reduce"]),
        ("task[kind=collective, op=all_gather].channels", ["gather"]),
        ("tasks[name=layer?_qkv].channels", ["layer0_qkv", "layer1_qkv"]),
        ("tasks[dtype=bf16,kind=gemm].channels", ["layer0_qkv"]),
    ],
)
def test_all_conditions_hold(path: str, names: list[str]) -> None:
    assert expanded(WORKLOAD, path) == tuple(f"task.{name}.channels" for name in names)


def test_any_other_path_stands_for_itself() -> None:
    assert expanded(WORKLOAD, "task.gather.size") == ("task.gather.size",)


def test_the_path_ends_behind_the_brackets() -> None:
    path = "tasks[kind=collective].channels"
    assert split_setting(f" {path} = 8") == (path, "=", "8")
    assert split_setting("task.gather.channels=8") == ("task.gather.channels", "=", "8")
    assert split_setting(path) == (path, "", "")


def test_a_value_is_set_in_all_and_nowhere_else() -> None:
    _, changed = set_value(TEACHING, WORKLOAD, "tasks[kind=collective].channels", "3")
    assert [getattr(task, "channels", None) for task in changed.tasks.values()] == [
        None,
        None,
        3,
        3,
    ]
    assert get_value(TEACHING, changed, "tasks[kind=collective].channels") == 3


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("tasks[kind=copy].bytes", "1 MiB", "no task fits 'kind=copy'; .* collective, gemm"),
        ("tasks[collective].channels", "3", "'collective' is no condition; write FIELD=VALUE"),
        ("tasks[kind=collective].chanels", "3", "did you mean 'task.gather.channels'"),
        ("tasks[kind=collective].channels", "0", "must be greater than 0"),
        ("tasks[kind=gemm].channels", "3", "unknown path 'task.layer0_qkv.channels'"),
    ],
)
def test_mistakes_say_where(path: str, value: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        set_value(TEACHING, WORKLOAD, path, value)
