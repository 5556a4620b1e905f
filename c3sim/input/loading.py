"""Reads hardware, workloads, studies and records, strictly: every mistake in one pass, each with
file, line and path.

    loaded = load_hardware("mi300x-8")      # by name, or the path of a file
    loaded.node.gpu.hbm.bandwidth           # 5.3e12, SI
    loaded.provenance["gpu.hbm.bandwidth"]  # text, unit, source, interval, file and line

Everything here raises :class:`~c3sim.errors.InputErrors`, whose text is one line per mistake:
``<file>:<line>: <path>: <what is wrong, with the value>; <what is allowed>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from c3sim.errors import InputError, InputErrors
from c3sim.input import library
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.checks.workload import check_workload
from c3sim.input.conform import BAD, Conform, Leaf
from c3sim.input.constraints import nearest_place, raise_all, validate, with_places
from c3sim.input.yaml_nodes import Item, from_plain, read_yaml
from c3sim.specs.hardware import Gpu, Node
from c3sim.specs.study import Study
from c3sim.specs.transformer import Transformer
from c3sim.specs.workload import Workload

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class LoadedNode:
    """A node, and for each of its numbers (``gpu.hbm.bandwidth``) what the file says about it."""

    node: Node
    provenance: Mapping[str, Leaf]


@dataclass(frozen=True, kw_only=True)
class LoadedWorkload:
    """A workload, and the line each of its values stands on, so that later checks can name it."""

    workload: Workload
    file: str = ""
    places: Mapping[str, int] = field(default_factory=dict)

    def check_on(self, node: Node) -> None:
        """As :func:`~c3sim.input.checks.workload.check_on_node`, with file and line in the errors."""
        with with_places(self.file, self.places):
            check_on_node(self.workload, node)


@dataclass(frozen=True, kw_only=True)
class LoadedStudy:
    """A study, and the line each of its values stands on."""

    study: Study
    file: str = ""
    places: Mapping[str, int] = field(default_factory=dict)

    def error(self, message: str, path: str) -> InputError:
        """A mistake at *path* of the study (``axes.'gpu.hbm.bandwidth'``), with file and line."""
        return InputError(message, path, self.file, nearest_place(path, self.places))


def load_hardware(path_or_name: str | Path) -> LoadedNode:
    """A node file, with the GPU file it names; what it leaves out it has from the node it is
    ``like``. Raises InputErrors.
    """
    return _hardware(library.find("node", path_or_name), ())


def _hardware(path: Path, before: tuple[Path, ...]) -> LoadedNode:
    """The node in the file *path*; *before*: the files that were read because they are like it."""
    errors: list[InputError] = []
    root = _read(path, errors)
    if root is None:
        raise InputErrors(errors)
    document = Conform(style="leaf", file=display(path), errors=errors)
    own = root.value if isinstance(root.value, Mapping) else {}
    base = _base(own.get("like"), path, (*before, path), document)
    raise_all(errors)
    inherited = {
        key: getattr(base.node, key) for key in Node.model_fields if base and key not in own
    }
    elsewhere = frozenset({"like", *inherited})
    entry = own.get("gpu")
    if entry is not None and isinstance(entry.value, str):
        gpu = _referenced_gpu(entry.value, path, entry.line, document)
        data = document.model(root, Node, elsewhere=elsewhere | {"gpu"})
        inherited["gpu"] = BAD if gpu is None else gpu
    else:
        data = document.model(root, Node, elsewhere=elsewhere)
    node = validate(document, Node, {**data, **inherited} if inherited else data)
    raise_all(errors)
    assert node is not None  # no error was noted
    leaves = (
        {key: leaf for key, leaf in base.provenance.items() if key.split(".")[0] in inherited}
        if base
        else {}
    )
    return LoadedNode(node=node, provenance={**leaves, **document.leaves})


def _base(
    like: Item | None, path: Path, before: tuple[Path, ...], document: Conform
) -> LoadedNode | None:
    """The node that a node file is like, if it says so."""
    if like is None:
        return None
    if not isinstance(like.value, str):
        document.fail("must be the name or the path of a node file", "like", like.line)
        return None
    try:
        beside = path.parent / like.value
        found = (
            beside
            if like.value.endswith((".yaml", ".yml")) and beside.exists()
            else library.find("node", like.value)
        )
    except InputError as error:
        document.fail(error.message, "like", like.line)
        return None
    if found in before:
        document.fail(
            f"{found.name} is like itself; needs a node with values of its own", "like", like.line
        )
        return None
    return _hardware(found, before)


def _referenced_gpu(name: str, node_file: Path, line: int, document: Conform) -> Gpu | None:
    """The GPU that a node file names, its leaves added under ``gpu.``; its errors carry its own
    file.
    """
    document.places["gpu"] = line
    document.bad.add("gpu")  # whatever is wrong with it is said in its own file
    try:
        beside = node_file.parent / name
        path = (
            beside
            if name.endswith((".yaml", ".yml")) and beside.exists()
            else library.find("gpu", name)
        )
    except InputError as error:
        document.fail(error.message, "gpu", line)
        return None
    errors: list[InputError] = []
    root = _read(path, errors)
    inner = Conform(style="leaf", file=display(path), errors=errors)
    gpu = validate(inner, Gpu, inner.model(root, Gpu)) if root is not None else None
    document.errors += errors
    document.leaves.update({f"gpu.{key}": leaf for key, leaf in inner.leaves.items()})
    return gpu


def load_workload(path_or_name: str | Path) -> Workload:
    """A workload file, its names and dependencies checked. Raises InputErrors."""
    return open_workload(path_or_name).workload


def open_workload(path_or_name: str | Path) -> LoadedWorkload:
    """As :func:`load_workload`, with the lines of the file, for later checks."""
    path = library.find("workload", path_or_name)
    workload, document = _load(path, Workload)
    with with_places(document.file, document.places):
        check_workload(workload)
    return LoadedWorkload(workload=workload, file=document.file, places=document.places)


def load_study(path_or_name: str | Path) -> Study:
    """A study file. Raises InputErrors."""
    return open_study(path_or_name).study


def open_study(path_or_name: str | Path) -> LoadedStudy:
    """As :func:`load_study`, with the lines of the file, for later checks."""
    study, document = _load(library.find("study", path_or_name), Study)
    return LoadedStudy(study=study, file=document.file, places=document.places)


def load_model(path_or_name: str | Path) -> Transformer:
    """A language model's file. Raises InputErrors."""
    return _load(library.find("model", path_or_name), Transformer)[0]


def parse_workload(mapping: Mapping[str, object], *, plain_si: bool = False) -> Workload:
    """A workload from Python or JSON data; with *plain_si* a size without unit is in bytes. Raises
    InputErrors.
    """
    document = Conform(style="si" if plain_si else "text")
    workload = validate(document, Workload, document.model(from_plain(mapping), Workload))
    raise_all(document.errors)
    assert workload is not None  # no error was noted
    with with_places("", document.places):
        check_workload(workload)
    return workload


def load_file(path: Path, model: type[Model]) -> Model:
    """Any YAML file as *model*, numbers as in workloads. Raises InputErrors."""
    return _load(path, model)[0]


def _load(path: Path, model: type[Model]) -> tuple[Model, Conform]:
    errors: list[InputError] = []
    root = _read(path, errors)
    if root is None:
        raise InputErrors(errors)
    document = Conform(style="text", file=display(path), errors=errors)
    result = validate(document, model, document.model(root, model))
    raise_all(errors)
    assert result is not None  # no error was noted
    return result, document


def _read(path: Path, errors: list[InputError]) -> Item | None:
    text = read_text(path)
    return read_yaml(text, display(path), errors)


def read_text(path: Path) -> str:
    """The file as text. Raises InputError when it cannot be read or is not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputErrors(
            [InputError(f"cannot be read ({reason}); must be a readable file", "", display(path))]
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise InputErrors([InputError(message, "", display(path), line)]) from None


def display(path: Path) -> str:
    """The path as errors print it: relative where it lies under the working directory."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
