"""Values set by hand: ``PATH=VALUE`` texts, and files of them.

links.bandwidth: 76 GB/s
gpu:
hbm: {bandwidth: {value: 8 TB/s, source: data sheet}}      source and the like are for readers
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from c3sim.errors import InputError
from c3sim.spec.base import LEAST_BYTES
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.plausible import contradictions, implausible, too_large
from c3sim.spec.reading.documents import Place
from c3sim.spec.reading.files import read_document, wrong_file
from c3sim.spec.reading.hardware import LoadedNode
from c3sim.spec.reading.inherited import left_behind, notes_on
from c3sim.spec.reading.paths import (
    canonical,
    get_value,
    is_of_workload,
    set_value,
    split_setting,
    unit_of,
)
from c3sim.spec.sourced import Leaf
from c3sim.spec.units import format_si
from c3sim.spec.workload import Workload

SHOWN = 3  # settings in one note


class Settings(dict[str, Any]):
    """Values by path; *places*: file and line of those that stand in a file."""

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        super().__init__(values or {})
        self.places: dict[str, tuple[str, int]] = {}

    def apply(self, node: Node, workload: Workload) -> tuple[Node, Workload]:
        """Models with all values. Raises InputError, with file and line where there are any."""
        for path, value in self.items():
            try:
                node, workload = set_value(
                    node, workload, path, self._with_unit(node, workload, path, value)
                )
            except InputError as error:
                place = self.places.get(path, ("", 0))
                raise InputError(error.message, error.path, *place) from None
        return node, workload

    def _with_unit(self, node: Node, workload: Workload, path: str, value: object) -> object:
        """A value from Python with its unit: a plain number is in SI units, bytes and bytes per
        second from 1024 on (fewer were meant in some other unit); a quantity of pint is converted.
        In a file of settings a number needs its unit.
        """
        if path in self.places or isinstance(value, bool | str):
            return value
        if hasattr(value, "magnitude") and hasattr(value, "to"):
            unit = unit_of(node, workload, path)
            return f"{_in_unit(value, unit, path)!r} {unit}".rstrip()
        if not isinstance(value, int | float):
            return value
        unit = unit_of(node, workload, path)
        plain = unit in ("", "1") or (unit.startswith("B") and value < LEAST_BYTES)
        return value if plain else f"{value!r} {unit}"


def _in_unit(value: Any, unit: str, path: str) -> float:
    """A quantity of pint as a number of *unit*. Raises InputError: it is of another dimension."""
    try:
        return float(value.to(unit or "dimensionless").magnitude)
    except Exception as error:  # pint's own, which is not imported for this
        raise InputError(
            f"{value} does not convert to {unit or 'a number'}: {error}", path
        ) from None


def settings_of(given: Mapping[str, object] | str | PathLike[str] | None) -> Settings:
    """The settings in *given*: a mapping, or the file of that path. Raises InputErrors."""
    if isinstance(given, Settings):
        return given
    return read_settings(Path(given)) if isinstance(given, str | PathLike) else Settings(given)


def parse_settings(texts: Iterable[str]) -> Settings:
    """``PATH=VALUE``, or the path of a file of settings; a text wins over a file. Raises
    InputError(s).
    """
    values, by_hand = Settings(), Settings()
    for text in texts:
        path, equals, value = split_setting(text)
        if not equals and (text.endswith((".yaml", ".yml")) or Path(text).is_file()):
            read = read_settings(Path(text))
            values.update(read)
            values.places |= read.places
            continue
        if not (path and equals and value):
            message = (
                f"{text!r} is not a setting; write PATH=VALUE, as in task.gather.channels=16, or a"
                " .yaml file of them"
            )
            raise InputError(message, "--set")
        if path in by_hand:
            message = f"{path!r} is set twice, to {by_hand[path]!r} and {value!r}; set it once"
            raise InputError(message, "--set")
        by_hand[path] = value
    values.places = {path: place for path, place in values.places.items() if path not in by_hand}
    values.update(by_hand)
    return values


def read_settings(path: Path) -> Settings:
    """The settings in a file: paths, or mappings of them. Raises InputErrors."""
    document, settings = read_document(path), Settings()
    data = document.data

    def read(value: Any, at: str, place: Place) -> None:
        if isinstance(value, dict) and "value" in value:
            read(value["value"], at, document.place_of(value, "value", place))
        elif isinstance(value, dict):
            for key, each in value.items():
                inner = f"{at}.{key}" if at else key
                read(each, inner, document.place_of(value, key, place))
        else:
            settings[at] = list(value) if isinstance(value, tuple) else value
            settings.places[at] = (place.file, place.line)

    if "schema" in data:
        message = "has a schema, so it is no file of settings; a node is given with --node"
        line = document.place_of(data, "schema", document.place).line
        raise wrong_file(path, message, line)
    read(data, "", document.place)
    return settings


def beyond_the_file(
    loaded: LoadedNode, node: Node, workload: Workload, paths: Iterable[str]
) -> str:
    """A note on values at *paths* of *node* that its file does not vouch for: they lie outside the
    interval that it gives, or differ where it gives none. Empty where there are none.
    """
    texts = []
    for path in dict.fromkeys(canonical(path) for path in paths if not is_of_workload(path)):
        now, was = get_value(node, workload, path), get_value(loaded.node, workload, path)
        leaf, unit = loaded.provenance.get(path), unit_of(node, workload, path)
        ends = leaf.interval if leaf is not None and leaf.interval else (was, was)
        numbers = all(isinstance(each, int | float) for each in (now, *ends))
        if now == was or (numbers and ends[0] <= now <= ends[1]):
            continue
        held = " to ".join(dict.fromkeys(_shown(end, unit) for end in ends))
        texts.append(f"{path} {_shown(now, unit)} (file: {held}){_shape(node, path)}")
    if not texts:
        return ""
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return f"what-if, beyond what the node file vouches for: {', '.join(texts[:SHOWN])}{more}"


def remarks(
    loaded: LoadedNode, node: Node, workload: Workload, paths: Iterable[str]
) -> Iterator[str]:
    """Notes on *node*, which is *loaded* with values set at *paths*: what was taken over, and what
    was fitted beside what is set, contradictions, and what no known GPU has.
    """
    of_node = [canonical(path) for path in paths if not is_of_workload(path)]
    values = [*loaded.inherited]
    if of_node:
        values += left_behind(loaded.provenance, loaded.node, node, of_node)
    yield from notes_on([each for each in values if _may_be_used(each.path, node, workload)])
    if of_node:
        yield from (f"contradiction: {path} {why}" for path, why, _ in contradictions(node))
    yield from implausible(node) if of_node else loaded.warnings
    yield from too_large(workload)


def _may_be_used(path: str, node: Node, workload: Workload) -> bool:
    """False for a value of a library that no task of *workload* calls."""
    steps = path.removeprefix("gpu.").split(".")
    if steps[0] not in ("gemm_libraries", "collective_libraries"):
        return True
    of_gemms = steps[0] == "gemm_libraries"
    known = node.gpu.gemm_libraries if of_gemms else node.collective_libraries
    kind, name = ("gemm", "library") if of_gemms else ("collective", "backend")
    used = {
        getattr(task, name) or next(iter(known))
        for task in workload.tasks.values()
        if task.kind == kind
    }
    return steps[1] in used


def _shown(value: object, unit: str) -> str:
    return format_si(value, unit) if isinstance(value, int | float) else str(value)


def _shape(node: Node, path: str) -> str:
    """The links of a node with another number of GPUs."""
    if path != "gpus" or node.links.topology != "full_mesh":
        return ""
    return f", a full mesh: {(node.gpus - 1) * node.links.per_peer} links per GPU"


def node_with_settings(
    loaded: LoadedNode, settings: Settings, workload: Workload, source: str
) -> LoadedNode:
    """*loaded* with *settings*; what is said of each value is *source*. *workload*: any. Raises
    InputError.
    """
    for path in filter(is_of_workload, settings):
        message = "is a value of a workload; only those of the node can be set here"
        raise InputError(message, path, *settings.places.get(path, ("", 0)))
    node, _ = settings.apply(loaded.node, workload)
    leaves = dict(loaded.provenance)
    for path, value in ((canonical(path), value) for path, value in settings.items()):
        now, unit = get_value(node, workload, path), unit_of(node, workload, path)
        leaf = Leaf(text=str(value), value=now, unit=unit, source=source)
        if path in leaves:
            leaves[path] = replace(leaf, file=leaves[path].file, line=leaves[path].line)
        elif isinstance(now, int | float):
            leaves[path] = leaf
    return replace(loaded, node=node, provenance=leaves)
