"""Every mistake in what users write is answered with its line, its path and a remedy.

``mistakes.yaml`` is the table: by what reads it, arguments and all that is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading_case import HWMODELS, WORKLOAD, error_of, errors_of
from made_records import GEMM, line

from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.reading.expressions import TRUTH, WORDS, check_constraint, parse_expression
from c3sim.spec.reading.library import find
from c3sim.spec.reading.loading import load_hardware, load_node, load_workload
from c3sim.spec.reading.mistakes import checked
from c3sim.spec.reading.paths import set_value
from c3sim.spec.reading.records import load_records, parse_record
from c3sim.spec.reading.upgrade import upgrade
from c3sim.spec.study import Study
from c3sim.spec.units import parse_quantity
from c3sim.spec.workload import Workload, parse_after

NODE = load_node("mi300x-8")
LATENCY = "latency: {value: 1 us, source: invented for teaching}"
UNITS = {
    **{"engines": "", "rate": "B/s", "latency": "s", "size": "B", "clock": "Hz", "power": "W"},
    **{"used": "J", "strategy": WORDS, "on": TRUTH, "channels": None},
}
VALUES = {"strategy": "conccl", "n": 1}
PAIR = {"schema": 1, "name": "mine", "workload": "c3-pair"}


def of_workload(old: str, new: str) -> str:
    """The workload of the tests with *new* in the place of *old*."""
    assert old in WORKLOAD
    return "\n".join(errors_of(load_workload, "w.yaml", WORKLOAD.replace(old, new, 1)))


def of_text(text: str) -> str:
    return "\n".join(errors_of(load_workload, "w.yaml", text))


def of_task(task: str) -> str:
    return of_text(f"schema: 1\nname: w\ntasks:\n  x: {{kind: stream, {task}}}\n")


def of_gpu(old: str, new: str) -> str:
    """The teaching GPU with *new* in the place of *old*; lines are counted from there."""
    text = (HWMODELS / "teaching.yaml").read_text(encoding="utf-8")
    Path("gpu.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    node = (HWMODELS / "nodes" / "teaching-4.yaml").read_text(encoding="utf-8")
    lines = errors_of(load_hardware, "node.yaml", node.replace("gpu: teaching", "gpu: ./gpu.yaml"))
    return _from(text, old, "\n".join(lines))


def _from(text: str, old: str, said: str) -> str:
    """*said*, the number of each line as it is counted from that of *old* in *text*."""
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    return re.sub(r"(?m)^([\w.]+):(\d+):", lambda m: f"{m[1]}:{int(m[2]) - line:+d}:", said)


def of_node(text: str) -> str:
    """A node with just that; beside it is one for four GPUs."""
    Path("other.yaml").write_text("schema: 2\nlike: teaching-4\n", encoding="utf-8")
    return "\n".join(errors_of(load_hardware, "mine.yaml", f"schema: 2\n{text}\n"))


def of_fit(entry: str) -> str:
    """The latency of a link with *entry* in what a fit says of it, or beside it."""
    key, _, value = entry.partition(": ")
    fit = {"suite": "a", "date": "2026-11-21", "records": "9", "data": "0a", "residual": "0.01"}
    fit["interval"] = "[0 us, 3 us]"
    beside = "" if key in fit or key == "calibrated" else f", {entry}"
    fit |= {key: value} if key in fit else {}
    inside = ", ".join(f"{name}: {text}" for name, text in fit.items())
    whole = entry if key == "calibrated" else f"calibrated: {{{inside}}}{beside}"
    new = f"latency: {{value: 1 us, source: me, interval: [0 us, 9 us], {whole}}}"
    text = (HWMODELS / "nodes" / "teaching-4.yaml").read_text(encoding="utf-8")
    lines = errors_of(load_hardware, "node.yaml", text.replace(LATENCY, new, 1))
    return _from(text, LATENCY, "\n".join(lines))


def of_old_file(text: str) -> str:
    Path("x.yaml").write_text(text, encoding="utf-8")
    return error_of(upgrade, Path("x.yaml"))


def of_line(text: str) -> str:
    return "\n".join(errors_of(load_records, "r.jsonl", f"{text}\n"))


def of_record(changes: dict[str, Any]) -> str:
    whole = line({"g": GEMM}, {"tasks": {"g": {"time_us": 12.5}}})
    return error_of(parse_record, json.dumps({**whole, **changes}))


def of_tasks(fields: dict[str, Any]) -> str:
    return error_of(check_workload, _workload(fields))


def on_node(task: dict[str, Any]) -> str:
    return error_of(check_on_node, _workload({"tasks": {"t": task}}), NODE)


def _workload(fields: dict[str, Any]) -> Workload:
    return checked(Workload, {"schema": 1, "name": "w", **fields})


def of_path(path: str, value: object) -> str:
    tasks = {
        "gather": {"kind": "collective", "op": "all_gather", "size": 2**20, "stream": "comm"},
        "gemm": {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192},
    }
    return error_of(set_value, NODE, _workload({"tasks": tasks}), path, value)


def of_value(text: str) -> str:
    return error_of(parse_expression(text).value, VALUES.__getitem__)


def of_constraint(text: str) -> str:
    known = {"strategy": ("base", "conccl")}
    return error_of(check_constraint, parse_expression(text), UNITS.__getitem__, known)


def of_study(fields: dict[str, Any]) -> str:
    return error_of(checked, Study, {**PAIR, **fields})


READERS: dict[str, Callable[..., str]] = {
    **{"workload": of_workload, "text": of_text, "task": of_task, "gpu": of_gpu, "node": of_node},
    **{"calibrated": of_fit, "schema 1": of_old_file, "line": of_line, "record": of_record},
    **{"tasks": of_tasks, "on a node": on_node, "path": of_path, "study": of_study},
    "name": lambda kind, name: error_of(find, kind, name),
    "quantity": lambda text, unit: error_of(parse_quantity, text, unit),
    "expression": lambda text: error_of(parse_expression, text),
    **{"value": of_value, "constraint": of_constraint},
    "after": lambda text: error_of(parse_after, text),
    "mask": lambda mask: error_of(parse_cu_mask, mask, 304),
}
TABLE = yaml.safe_load(Path(__file__).with_suffix("").with_name("mistakes.yaml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("part", "args", "says"),
    [(part, case["in"], case["says"]) for part, cases in TABLE.items() for case in cases],
)
def test_a_mistake_is_answered(part, args, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert READERS[part](*args) == says.rstrip("\n")
