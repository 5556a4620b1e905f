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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from c3sim.errors import InputError, InputErrors
from c3sim.spec.base import Reading, Style
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Iteration
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.reading import library
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.reading.documents import Document, plain
from c3sim.spec.reading.files import LARGEST_SPEC, display, read_bytes, read_document, wrong_file
from c3sim.spec.reading.hardware import LoadedNode as LoadedNode
from c3sim.spec.reading.hardware import load_hardware as load_hardware
from c3sim.spec.reading.hardware import load_node as load_node
from c3sim.spec.reading.huggingface import is_config, read_config
from c3sim.spec.reading.mistakes import nearest_place, read, with_places
from c3sim.spec.reading.paths import interpret, set_field
from c3sim.spec.study import Study
from c3sim.spec.workload import Workload

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class LoadedWorkload:
    """A workload, and the line each of its values stands on, so that later checks can name it."""

    workload: Workload
    file: str = ""
    places: Mapping[str, int] = field(default_factory=dict)

    def check_on(self, node: Node) -> None:
        """Check as :func:`~c3sim.spec.reading.checks.on_node.check_on_node`; errors have file
        and line.
        """
        with with_places(self.file, self.places):
            check_on_node(self.workload, node)


@dataclass(frozen=True, kw_only=True)
class LoadedIteration:
    """The description of an iteration with its model, and the line each of its values stands on."""

    iteration: Iteration
    model: Transformer | Dlrm
    file: str = ""
    places: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LoadedStudy:
    """A study, and the line each of its values stands on."""

    study: Study
    file: str = ""
    places: Mapping[str, int] = field(default_factory=dict)

    def error(self, message: str, path: str) -> InputError:
        """A mistake at *path* of the study (``axes.'gpu.hbm.bandwidth'``), with file and line."""
        return InputError(message, path, self.file, nearest_place(path, self.places))


def load_workload(path_or_name: str | Path) -> Workload:
    """A workload file, its names and dependencies checked. Raises InputErrors."""
    return open_workload(path_or_name).workload


def open_workload(path_or_name: str | Path) -> LoadedWorkload:
    """Workload as of :func:`load_workload`, with the lines of the file, for later checks."""
    path = library.find("workload", path_or_name)
    style: Style = "si" if path.suffix == ".json" else "bytes"  # JSON as in records
    if style == "si" and is_config(read_document(path).data):
        how = f"run an iteration of it: c3sim run llama3-8b-training --set model={display(path)}"
        raise wrong_file(path, f"is a model, no workload; {how}")
    workload, file, places = open_file(path, Workload, style)
    with with_places(file, places):
        check_workload(workload)
    return LoadedWorkload(workload=workload, file=file, places=places)


def load_study(path_or_name: str | Path) -> Study:
    """A study file. Raises InputErrors."""
    return open_study(path_or_name).study


def open_study(path_or_name: str | Path) -> LoadedStudy:
    """Study as of :func:`load_study`, with the lines of the file, for later checks."""
    study, file, places = open_file(library.find("study", path_or_name), Study)
    return LoadedStudy(study=study, file=file, places=places)


def load_model(path_or_name: str | Path) -> Transformer:
    """A language model's file, or its Hugging Face config. Raises InputErrors."""
    document = read_document(library.find("model", path_or_name))
    if is_config(document.data):
        return read_config(document)
    return read(Transformer, document, Reading("text"))


def load_any_model(path_or_name: str | Path) -> Transformer | Dlrm:
    """The file of a language or a recommendation model. Raises InputErrors."""
    path = library.find("model", path_or_name)
    tables = "lookups" in read_document(path).data
    return load_file(path, Dlrm) if tables else load_model(path)


def fields_of_model(like: str) -> dict[str, Any]:
    """What the model of that name or file says, by our names of fields. Raises InputErrors."""
    found = load_any_model(like).model_dump(by_alias=True, exclude_unset=True)
    beside = ("schema", "description", "source")
    return {name: value for name, value in found.items() if name not in beside}


def in_place(own: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a model: those of the one that *own* is ``like``, but for what *own* says, at
    any depth; null: left out. Raises InputErrors.
    """
    like = own["like"]
    try:
        if not isinstance(like, str):
            raise InputError("must be the name or the path of a model file")
        base = fields_of_model(like)
    except InputError as error:
        raise InputErrors([InputError(error.message, "model.like")]) from None
    model = base | {"name": f"changed {base['name']}"}
    for name, value in own.items():
        inner = base.get(name)
        whole = isinstance(value, dict) and isinstance(inner, dict)
        model[name] = {**(inner or {}), **value} if whole else value
    return {name: value for name, value in model.items() if name != "like" and value is not None}


def _with_base(document: Document) -> Document:
    """*document*, an iteration's, with its model in place where that is like another one. Raises
    InputErrors.
    """
    own = document.data.get("model")
    if not isinstance(own, dict) or "like" not in own:
        return document
    place = document.place_of(own, "like", document.place)
    with with_places(place.file, {"": place.line}):
        model = in_place(own)
    data = {**document.data, "model": model}
    inner = (model.get("latent"), own.get("latent"))
    for new, given in (inner, (model, own), (data, document.data)):
        if isinstance(new, dict):
            document.note(new, {name: document.place_of(given, name, place) for name in new})
    return replace(document, data=data)


def with_field(iteration: Iteration, path: str, value: object) -> Iteration:
    """*iteration* with *value* at *path*. A model that is named, or that *value* is like, stands in
    place then, if the path is inside it. Raises InputError(s).
    """
    if path.startswith("model.") and isinstance(iteration.model, str):
        iteration = set_field(iteration, "model", in_place({"like": iteration.model}))
    meant = interpret(value, path) if isinstance(value, str) else value
    if path == "model" and isinstance(meant, Mapping) and "like" in meant:
        value = in_place(meant)
    return set_field(iteration, path, value)


def is_iteration(path_or_name: str | Path) -> bool:
    """True if that name, or that file, is the description of an iteration."""
    if isinstance(path_or_name, str) and path_or_name in library.names("iteration"):
        return True
    try:
        path = library.find("workload", path_or_name)
        if b"iteration" not in read_bytes(path, LARGEST_SPEC):
            return False
        return bool(read_document(path).data.get("kind") == "iteration")
    except (InputError, InputErrors):
        return False


def open_iteration(path_or_name: str | Path) -> LoadedIteration:
    """The description of an iteration, and its model. Raises InputErrors."""
    document = _with_base(read_document(library.find("iteration", path_or_name)))
    iteration = read(Iteration, document, Reading("text"))
    file, places = document.place.file, document.lines()
    with with_places(file, places):
        return with_model(iteration, file, places)


def with_model(
    iteration: Iteration, file: str = "", places: Mapping[str, int] | None = None
) -> LoadedIteration:
    """*iteration* with the model that it names or has in place. Raises InputErrors."""
    model = iteration.model
    if isinstance(model, str):
        try:
            found = load_any_model(model)
        except InputError as error:
            raise InputErrors([InputError(error.message, "model")]) from None
    else:
        found = model
    return LoadedIteration(iteration=iteration, model=found, file=file, places=places or {})


def parse_workload(mapping: Mapping[str, object], *, plain_si: bool = False) -> Workload:
    """A workload from Python or JSON data; with *plain_si* every number without unit is in SI
    units. Raises InputErrors.
    """
    reading = Reading("si" if plain_si else "bytes")
    workload = read(Workload, Document(plain(mapping)), reading)
    check_workload(workload)
    return workload


def parse_iteration(mapping: Mapping[str, object]) -> LoadedIteration:
    """An iteration from Python data, and its model. Raises InputErrors."""
    return with_model(read(Iteration, _with_base(Document(plain(mapping))), Reading("bytes")))


def load_file(path: Path, model: type[Model]) -> Model:
    """Any YAML file as *model*, with a unit on each number that has a dimension. Raises
    InputErrors.
    """
    return open_file(path, model)[0]


def open_file(
    path: Path, model: type[Model], style: Style = "text"
) -> tuple[Model, str, dict[str, int]]:
    """Model as of :func:`load_file`, its numbers in *style*, with the file as errors print it, and
    the line of each path in it.
    """
    document = read_document(path)
    return read(model, document, Reading(style)), document.place.file, document.lines()
