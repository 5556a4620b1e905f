"""The kind of a name or a file: node, GPU, workload, iteration, study, model or strategy."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import get_args

from c3sim.errors import InputError
from c3sim.spec.reading import library
from c3sim.spec.reading.files import display, read_document
from c3sim.spec.reading.hardware import ONLY
from c3sim.spec.words import unknown, with_article

_KINDS: tuple[library.Kind, ...] = get_args(library.Kind)
# a key of a file -> its kind
_KEYS = {
    "tasks": "workload",
    "scenarios": "study",
    "axes": "study",
    "linked": "study",
    "search": "study",
    "serving": "study",
    "pieces": "study",
    "table": "study",
    "machines": "study",
    "links": "node",
    "like": "node",
    "kv_heads": "model",
    "lookups": "model",
    "model_type": "model",
    "architectures": "model",
}


def kind_of(name: str, strategies: Collection[str]) -> str:
    """Kind of *name*. Raises InputError: nothing of that name, with the nearest one."""
    for kind in _KINDS:
        if name in library.names(kind):
            return kind
    if name in strategies:
        return "strategy"
    if Path(name).is_file() or "/" in name or name.endswith((".yaml", ".yml")):
        return _kind_of_file(library.find("workload", Path(name)))
    everything = [*(other for kind in _KINDS for other in library.names(kind)), *strategies]
    raise InputError(unknown("name", name, everything) + " ('c3sim list' shows all)")


def check_study(name: str) -> None:
    """Raises InputError for the name of a workload, node or model; it says what to do with it."""
    use: dict[library.Kind, str] = {
        "workload": "'c3sim run' runs it",
        "iteration": "'c3sim run' runs it",
        "node": "give it with --node",
        "gpu": "'c3sim show' shows it",
        "model": "'c3sim show' shows it",
    }
    if name not in library.names("study"):
        for kind in use:
            if name in library.names(kind):
                raise InputError(f"{name!r} is {with_article(kind)} ({use[kind]}), no study")


def _kind_of_file(path: Path) -> str:
    keys = read_document(path).data
    if keys.get("kind") == "iteration":
        return "iteration"
    if keys.keys() & ONLY["gpu"] or keys.get("like") in library.names("gpu"):
        return "gpu"
    kind = next((kind for key, kind in _KEYS.items() if key in keys), "")
    if not kind:
        message = (
            "neither node, GPU, workload, iteration, study nor model; 'c3sim schema' shows the"
            " fields of each"
        )
        raise InputError(message, "", display(path))
    return kind
