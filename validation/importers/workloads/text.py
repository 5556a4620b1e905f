"""A workload as YAML text: what was guessed, then a line a task, with its instances behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from .build import Built

WIDTH = 110
TIMES = ("time", "launch_time", "peers_late", "kernel_gap")
BYTES = ("size", "bytes", "read", "written")


def workload_text(built: Built) -> str:
    """The file; its head says what was guessed."""
    content = built.workload
    head = {key: value for key, value in content.items() if key not in ("tasks", "description")}
    head["host"] = with_units(head["host"])
    lines = [
        "# An iteration of a profiler trace, written by `c3sim import --as workload`.\n",
        _plain({key: head.pop(key) for key in ("schema", "name")}),
        "description: |\n",
        *(f"  {line}\n" for line in content["description"].splitlines()),
        _plain(head),
        "tasks:\n",
    ]
    for name, task in content["tasks"].items():
        note = f"  # {built.notes[name]}" if name in built.notes else ""
        lines.append(f"  {name}: {_flow(task)}{note}\n")
    return "".join(lines)


def _plain(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, width=WIDTH, allow_unicode=True)


def _flow(task: dict[str, Any]) -> str:
    text = yaml.safe_dump(with_units(task), sort_keys=False, default_flow_style=True, width=10**9)
    return text.strip()


def with_units(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Times in us and bytes with their unit."""
    texts = {}
    for name, value in fields.items():
        if name in TIMES:
            texts[name] = f"{1e6 * value:.6g} us"
        elif name in BYTES:
            texts[name] = f"{round(value)} B"
        else:
            texts[name] = value
    return texts
