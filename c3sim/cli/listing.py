"""``c3sim list``: what can be named."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument

from c3sim.cli.emit import emit_json
from c3sim.cli.options import Json

if TYPE_CHECKING:
    from c3sim.spec.reading.library import Kind

Lists = Literal["nodes", "gpus", "workloads", "iterations", "studies", "models", "strategies"]


def list_names(
    what: Annotated[Lists | None, Argument(metavar="[KIND]", help="Left out: all of them.")] = None,
    as_json: Json = False,
) -> None:
    """Names of the nodes, GPUs, workloads, iterations, studies, models and strategies of c3sim.

    \b
    Examples:
      c3sim list
      c3sim list workloads
      c3sim list strategies --json
    """
    lists = {name: _entries(name) for name in _LISTS if what in (None, name)}
    if as_json:
        emit_json(lists)
        return
    from c3sim.kit.layout import add_row, make_table, show

    for name, entries in lists.items():
        table = make_table([name, "what it is"], [])
        for entry in entries:
            add_row(table, entry["name"], entry["description"])
        show(table)


def _entries(name: str) -> list[dict[str, str]]:
    kind = _LISTS[name]
    if kind is None:
        from c3sim.evaluation.strategies.table import STRATEGIES

        return [{"name": key, "description": entry.help} for key, entry in STRATEGIES.items()]
    from c3sim.spec.reading.library import find, names

    return [
        {"name": each, "description": _description(kind, each), "file": str(find(kind, each))}
        for each in names(kind)
    ]


def _description(kind: Any, name: str) -> str:
    """The description in the file; for a file that does not load, its first error."""
    from c3sim.spec.reading.library import find

    at_top = _at_top(find(kind, name), "name" if kind == "gpu" else "description")
    return at_top or _loaded(kind, name)


def _loaded(kind: Any, name: str) -> str:
    from c3sim.errors import C3simError
    from c3sim.spec.reading.hardware import load_gpu
    from c3sim.spec.reading.loading import (
        load_any_model,
        load_hardware,
        load_study,
        load_workload,
        open_iteration,
    )

    load: dict[str, Any] = {
        "node": lambda name: load_hardware(name).node.description,
        "gpu": lambda name: load_gpu(name).node.gpu.name,
        "workload": lambda name: load_workload(name).description,
        "study": lambda name: load_study(name).description,
        "iteration": lambda name: open_iteration(name).iteration.description,
        "model": lambda name: load_any_model(name).description,
    }
    try:
        return str(load[kind](name))
    except C3simError as error:
        return f"does not load: {str(error).splitlines()[0]}"


def _at_top(file: Path, wanted: str) -> str:
    """The text *wanted* at the top of *file*, read as far as it stands; nothing where it has none,
    or is no YAML. To load every file takes over a second.
    """
    import yaml

    depth, key = 0, ""
    with suppress(yaml.YAMLError), file.open("rb") as text:
        for event in yaml.parse(text, yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif depth == 1 and isinstance(event, yaml.ScalarEvent):
                if key == wanted:
                    return str(event.value)
                key = "" if key else str(event.value)
            elif isinstance(event, yaml.CollectionStartEvent):
                depth, key = depth + 1, ""
    return ""


_LISTS: dict[str, Kind | None] = {
    "nodes": "node",
    "gpus": "gpu",
    "workloads": "workload",
    "iterations": "iteration",
    "studies": "study",
    "models": "model",
    "strategies": None,
}
