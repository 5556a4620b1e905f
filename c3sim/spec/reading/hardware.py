"""Reads nodes and GPUs: files that may be *like* another one, and then say only what differs.

    like: mi300x-8                                   in a node file
    gpu: {like: mi300x, hbm: {bandwidth: {...}}}     in a node file; or gpu: my-gpu.yaml
    like: mi300x                                     in a GPU file

What a file leaves out, at any depth, is that of the file it is like; a number is replaced as a
whole, with its source, and so is a list. ``NAME: null`` leaves out a library or an optional part.
What was fitted on the other one is scaled with what the file changes, where it says so
(inherited.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from c3sim.errors import InputError, InputErrors
from c3sim.spec.base import Reading, shown
from c3sim.spec.fields import fields_of
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.reading import library
from c3sim.spec.reading.checks.plausible import contradictions, implausible
from c3sim.spec.reading.documents import UNREADABLE, Document, Place, Step, join
from c3sim.spec.reading.files import kept, read_document, wrong_file
from c3sim.spec.reading.inherited import Inherited, carry
from c3sim.spec.reading.mistakes import read
from c3sim.spec.sourced import DROPPED, Leaf

Kind = Literal["node", "gpu"]
Part = TypeVar("Part", Node, Gpu)

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

    *like*: paths that the file does not give itself, with all below them -> the file they are from;
    *inherited*: those of them that depend on numbers which the file changes; *warnings*: what is
    implausible.
    """

    node: Node
    provenance: Mapping[str, Leaf]
    like: Mapping[str, str] = field(default_factory=dict)
    inherited: tuple[Inherited, ...] = ()
    warnings: tuple[str, ...] = ()

    def origin(self, path: str) -> str:
        """The file that the value at *path* was taken over from; empty: the node's own."""
        steps = path.split(".")
        around = (".".join(steps[:end]) for end in range(len(steps), 0, -1))
        return next((self.like[each] for each in around if each in self.like), "")


def load_hardware(path_or_name: str | Path) -> LoadedNode:
    """A node file, with the GPU file and the node (``like``) that it names; read once while they
    stay the same, so nobody changes it. Raises InputErrors.
    """
    return kept(_loaded, path_or_name)


def load_node(path_or_name: str | Path) -> Node:
    """The node of :func:`load_hardware` alone."""
    return load_hardware(path_or_name).node


def _loaded(path_or_name: str | Path) -> LoadedNode:
    document = _merged("node", library.find("node", path_or_name))
    node, leaves, like = _read(Node, document)
    node, leaves, inherited = carry(node, leaves, document.bases)
    refuse_contradictions(node, leaves, [document.place.file, *document.roots])
    found = tuple(implausible(node))
    return LoadedNode(node=node, provenance=leaves, like=like, inherited=inherited, warnings=found)


def load_gpu(path_or_name: str | Path) -> LoadedNode:
    """A GPU file, in a node that is otherwise a packaged one: its paths begin with ``gpu.``. Raises
    InputErrors.
    """
    document = _merged("gpu", library.find("gpu", path_or_name))
    gpu, own, like = _read(Gpu, document)
    node = load_node("mi300x-8").changed(gpu=gpu)
    bases = [(files, {"gpu": data}) for files, data in document.bases]
    node, leaves, inherited = carry(
        node, {f"gpu.{path}": leaf for path, leaf in own.items()}, bases
    )
    return LoadedNode(
        node=node,
        provenance=leaves,
        like={f"gpu.{path}": name for path, name in like.items()},
        inherited=inherited,
    )


def refuse_contradictions(node: Node, leaves: Mapping[str, Leaf], files: Sequence[str]) -> None:
    """Nothing, or raises InputErrors: numbers that exclude each other, at the one in the first of
    *files*.
    """
    wrong = []
    for path, why, other in contradictions(node):
        own = min((leaves[path], leaves[other]), key=lambda leaf: files.index(leaf.file))
        wrong.append(InputError(why, path, own.file, own.line))
    if wrong:
        raise InputErrors(wrong)


def _read(model: type[Part], document: Document) -> tuple[Part, dict[str, Leaf], dict[str, str]]:
    """*document* as *model*, what it says of each number, and what it takes over from where."""
    reading = Reading("leaf")
    part = read(model, document, reading)
    leaves: dict[str, Leaf] = {}
    like: dict[str, str] = {}

    def note(value: Any, path: str, place: Place, above: str) -> None:
        origin = place.like or above
        if origin != above:
            like[path] = origin
        if (entry := reading.entries.get(id(value))) is not None:
            at = document.path_in(place.file, path)
            leaves[path] = Leaf.of(entry, place.file, place.line, at)
        elif isinstance(value, dict):
            for key, inner in value.items():
                note(inner, join(path, key), document.place_of(value, key, place), origin)

    note(document.data, "", document.place, "")
    files = [*document.roots, document.place.file]
    in_files = sorted(leaves.items(), key=lambda each: (files.index(each[1].file), each[1].line))
    return part, dict(in_files), like


def _merged(kind: Kind, path: Path, before: tuple[Path, ...] = ()) -> Document:
    """The file *path* with all that it takes over; *before*: files that are like it. Raises
    InputErrors.
    """
    document = _document(kind, path)
    own = document.data
    own.pop("schema", None)
    name, base = own.pop("like", None), None
    if name is not None:
        base = _named(kind, name, document, "like", path, (*before, path))
        own.setdefault("name", path.stem)  # it is another one than its base
    if base is not None:
        base.data.pop("grade", None)  # what stands behind a file stands behind that one alone
        if kind == "node" and _gpu_named(own) is not None:
            base.leave_out("gpu")
        document.take_in(base)
    if kind == "node":
        _put_gpu(document, path)
    if base is not None:
        document = replace(document, data=_merge(base.data, own, str(name), document))
    document.bases.append((frozenset({*document.roots, document.place.file}), dict(document.data)))
    return document


def _merge(base: Any, own: Any, name: str, document: Document) -> Any:
    """*own* with what it leaves out, at any depth, as in *base*, which is called *name*."""
    if own is None:
        return DROPPED
    if not isinstance(base, dict) or not isinstance(own, dict) or "value" in base:
        return own
    merged, places = {}, dict[Step, Place]()
    for key in {**base, **own}:  # in the order of the base: the first library is the default
        place = document.place_of(own if key in own else base, key, document.place)
        if key not in own:
            merged[key], place = base[key], place._replace(like=place.like or name)
        else:
            merged[key] = _merge(base[key], own[key], name, document) if key in base else own[key]
        places[key] = place
    document.note(merged, places)
    return merged


def _gpu_named(own: Mapping[str, Any]) -> str | None:
    """The GPU that a node file names, if it does: ``gpu: NAME`` or ``gpu: {like: NAME, ...}``."""
    inside = own.get("gpu")
    name = inside.get("like") if isinstance(inside, dict) else inside
    return name if isinstance(name, str) else None


def _put_gpu(document: Document, path: Path) -> None:
    """Put the GPU that a node file names in its place."""
    own = document.data
    name, inside = _gpu_named(own), own.get("gpu")
    if name is None:
        return
    place = document.place_of(own, "gpu", document.place)
    try:
        gpu = _named("gpu", name, document, "gpu", path)
    except InputErrors as wrong:
        document.errors.extend(wrong.errors)
        own["gpu"] = UNREADABLE
        return
    document.take_in(gpu, "gpu")
    if isinstance(inside, dict):
        del inside["like"]
        own["gpu"] = _merge(gpu.data, inside, name, document)
    else:
        own["gpu"], place = gpu.data, gpu.place
    document.places[id(own)][1]["gpu"] = place


def _named(
    kind: Kind,
    name: object,
    document: Document,
    key: str,
    file: Path,
    before: tuple[Path, ...] = (),
) -> Document:
    """The *kind* of file called *name* in the field *key* of *file*: beside it, or any that can be
    named. Raises InputErrors.
    """
    where = (key, *document.place_of(document.data, key, document.place)[:2])
    if not isinstance(name, str):
        message = f"must be the name or the path of a {kind} file"
        raise InputErrors([InputError(message, *where)])
    path = file.parent / name
    if not (name.endswith((".yaml", ".yml")) and path.exists()):
        try:
            path = library.find(kind, name)
        except InputError as error:
            raise InputErrors([InputError(error.message, *where)]) from None
    if path in before:
        message = f"{path.name} is like itself; needs a {kind} with values of its own"
        raise InputErrors([InputError(message, *where)])
    return _merged(kind, path, before)


def _document(kind: Kind, path: Path) -> Document:
    """The hardware file *path*, of schema 2. Raises InputErrors for another schema, and for a file
    of the other kind.
    """
    document = read_document(path)
    keys = document.data.keys()
    other: Kind = "gpu" if kind == "node" else "node"
    if ONLY[other] & keys and not ONLY[kind] & keys:
        message = _WRONG[kind].format(name=path.name)
        raise wrong_file(path, message, document.place.line)
    schema = document.data.get("schema")
    if keys and schema != 2:
        what = f"schema {shown(schema)}" if "schema" in keys else "no schema"
        message = (
            f"{what}; hardware files have schema: 2, and c3sim upgrade {path} rewrites old ones"
        )
        line = document.place_of(document.data, "schema", document.place).line
        raise wrong_file(path, message, line)
    return document
