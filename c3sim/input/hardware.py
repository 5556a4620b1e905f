"""Reads nodes and GPUs: files that may be *like* another one, and then say only what differs.

    like: mi300x-8                                   in a node file
    gpu: {like: mi300x, hbm: {bandwidth: {...}}}     in a node file; or gpu: my-gpu.yaml
    like: mi300x                                     in a GPU file

What a file leaves out, at any depth, is that of the file it is like; a number is replaced as a
whole, with its source, and so is a list. ``NAME: null`` leaves out a library or an optional part.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from c3sim.errors import InputError, InputErrors
from c3sim.input import library
from c3sim.input.conform import BAD
from c3sim.input.constraints import raise_all, validate
from c3sim.input.leaves import Leaf
from c3sim.input.like import ConformLike
from c3sim.input.reading import display, read_tree
from c3sim.input.shapes import fields_of
from c3sim.input.yaml_nodes import Item
from c3sim.specs.hardware import Gpu, Node

Kind = Literal["node", "gpu"]

_MODELS: dict[Kind, type[BaseModel]] = {"node": Node, "gpu": Gpu}
#: Fields that only one of both kinds of file has.
ONLY: dict[Kind, frozenset[str]] = {
    "node": frozenset(fields_of(Node).keys() - fields_of(Gpu).keys()),
    "gpu": frozenset(fields_of(Gpu).keys() - fields_of(Node).keys()),
}
_WRONG = {
    "node": "a GPU file, no node; a node file names it, as in gpu: {name}"
    " ('c3sim new node --like mi300x-8' writes one)",
    "gpu": "a node file, no GPU; give the file of a GPU",
}


@dataclass(frozen=True, kw_only=True)
class LoadedNode:
    """A node, and for each of its numbers (``gpu.hbm.bandwidth``) what the file says about it.

    *like*: paths that the file does not give itself, with all below them -> the file they are from.
    """

    node: Node
    provenance: Mapping[str, Leaf]
    like: Mapping[str, str] = field(default_factory=dict)

    def origin(self, path: str) -> str:
        """The file that the value at *path* was taken over from; empty: the node's own."""
        return _origin(self.like, path)


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A node or GPU as read: *name* it was asked for by, leaves and origins by paths of its own."""

    name: str
    model: Any
    leaves: Mapping[str, Leaf]
    like: Mapping[str, str]

    def under(self, path: str) -> _Part:
        """The same as the part *path* of something else."""
        return replace(
            self,
            leaves={f"{path}.{key}": leaf for key, leaf in self.leaves.items()},
            like={f"{path}.{key}": name for key, name in self.like.items()},
        )

    def kept(self, paths: Iterable[str]) -> _Part:
        """What of it another file has taken over, being at *paths* or below."""
        taken = dict.fromkeys(paths)
        whole = {path: _origin(self.like, path) or self.name for path in taken}
        below = {path: name for path, name in self.like.items() if _is_in(path, taken)}
        leaves = {path: leaf for path, leaf in self.leaves.items() if _is_in(path, taken)}
        return replace(self, leaves=leaves, like=whole | below)


def _is_in(path: str, places: Container[str]) -> bool:
    return any(each in places for each in _around(path))


def _origin(like: Mapping[str, str], path: str) -> str:
    return next((like[each] for each in _around(path) if each in like), "")


def _around(path: str) -> list[str]:
    """*path* and what it lies in, the innermost first."""
    steps = path.split(".")
    return [".".join(steps[:end]) for end in range(len(steps), 0, -1)]


def load_hardware(path_or_name: str | Path) -> LoadedNode:
    """A node file, with the GPU file and the node (``like``) that it names. Raises InputErrors."""
    part = _read("node", library.find("node", path_or_name), ())
    return LoadedNode(node=part.model, provenance=part.leaves, like=part.like)


def load_gpu(path_or_name: str | Path) -> LoadedNode:
    """A GPU file, in a node that is otherwise a packaged one: its paths begin with ``gpu.``. Raises
    InputErrors.
    """
    part = _read("gpu", library.find("gpu", path_or_name), ()).under("gpu")
    around = load_hardware("mi300x-8").node.model_copy(update={"gpu": part.model})
    return LoadedNode(node=around, provenance=part.leaves, like=part.like)


def _read(kind: Kind, path: Path, before: tuple[Path, ...]) -> _Part:
    """The file *path*; *before*: the files that were read because they are like it."""
    root = _root(kind, path)
    document = ConformLike(file=display(path))
    own = root.value if isinstance(root.value, Mapping) else {}
    base = _base(kind, own.get("like"), path, (*before, path), document)
    raise_all(document.errors)
    given: dict[str, Any] = {}
    if base:
        document.bases[""] = base.model
        given |= {} if "name" in own else {"name": path.stem}  # it is another one than its base
    gpu = None
    if kind == "node" and (named := _gpu_named(own.get("gpu"))):
        gpu = _gpu(named, path, document)
        if gpu is None or named is own["gpu"]:
            given["gpu"] = gpu.model if gpu else BAD
            document.bad.add("gpu")  # whatever is wrong with it is said in its own file
        else:
            document.bases["gpu"] = gpu.model
            root = _without_like(root)
    data = document.model(root, _MODELS[kind], elsewhere=frozenset({"schema", "like", *given}))
    model = validate(document, _MODELS[kind], data if data is BAD else {**data, **given})
    raise_all(document.errors)
    of_gpu = [path for path in document.taken if gpu and path.startswith("gpu.")]
    parts = [base.kept(path for path in document.taken if path not in of_gpu)] if base else []
    if gpu:
        parts.append(gpu if "gpu" in given else gpu.kept(of_gpu))
    return _Part(
        name=path.stem,
        model=model,
        leaves={key: leaf for part in parts for key, leaf in part.leaves.items()} | document.leaves,
        like={key: name for part in parts for key, name in part.like.items()},
    )


def _is_name(item: Item) -> bool:
    return isinstance(item.value, str)


def _gpu_named(entry: Item | None) -> Item | None:
    """The name in ``gpu: NAME`` or ``gpu: {like: NAME, ...}`` of a node file, if there is one."""
    if entry is not None and isinstance(entry.value, Mapping):
        entry = entry.value.get("like")
    return entry if entry is not None and _is_name(entry) else None


def _without_like(root: Item) -> Item:
    """*root* without the ``like`` in its GPU."""
    assert isinstance(root.value, Mapping)
    gpu = root.value["gpu"]
    assert isinstance(gpu.value, Mapping)
    fields = {key: entry for key, entry in gpu.value.items() if key != "like"}
    return replace(root, value={**root.value, "gpu": replace(gpu, value=fields)})


def _root(kind: Kind, path: Path) -> Item:
    """The mapping in a hardware file of schema 2. Raises InputErrors for another schema, and for a
    file of the other kind.
    """
    root = read_tree(path)
    entries = root.value if isinstance(root.value, Mapping) else {}
    other: Kind = "gpu" if kind == "node" else "node"
    if ONLY[other] & entries.keys() and not ONLY[kind] & entries.keys():
        message = _WRONG[kind].format(name=path.name)
        raise InputErrors([InputError(message, "", display(path), root.line)])
    schema = entries.get("schema")
    if entries and (schema is None or schema.value != 2):
        what = "no schema" if schema is None else f"schema {schema.text()}"
        message = (
            f"{what}; hardware files have schema: 2, and c3sim upgrade {path} rewrites old ones"
        )
        line = root.line if schema is None else schema.line
        raise InputErrors([InputError(message, "", display(path), line)])
    return root


def _base(
    kind: Kind, like: Item | None, path: Path, before: tuple[Path, ...], document: ConformLike
) -> _Part | None:
    """What the file *path* is like, if it says so."""
    if like is None:
        return None
    if not _is_name(like):
        document.fail(f"must be the name or the path of a {kind} file", "like", like.line)
        return None
    file = _beside(kind, like, path, "like", document)
    if file in before:
        message = f"{file.name} is like itself; needs a {kind} with values of its own"
        document.fail(message, "like", like.line)
    elif file is not None:
        return replace(_read(kind, file, before), name=str(like.value))
    return None


def _beside(kind: Kind, name: Item, file: Path, field: str, document: ConformLike) -> Path | None:
    """The file that *field* of *file* names: beside it, or any that can be named."""
    text = str(name.value)
    beside = file.parent / text
    if text.endswith((".yaml", ".yml")) and beside.exists():
        return beside
    try:
        return library.find(kind, text)
    except InputError as error:
        document.fail(error.message, field, name.line)
        return None


def _gpu(name: Item, node_file: Path, document: ConformLike) -> _Part | None:
    """The GPU that a node file names; paths begin with ``gpu.``, its errors name its file."""
    document.places["gpu"] = name.line
    path = _beside("gpu", name, node_file, "gpu", document)
    if path is None:
        return None
    try:
        part = _read("gpu", path, ())
    except InputErrors as wrong:
        document.errors += wrong.errors
        return None
    return replace(part.under("gpu"), name=str(name.value))
