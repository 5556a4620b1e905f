"""One grammar names any value of a node or a workload: ``--set``, sweeps, fits, sources use it.

    gpu.hbm.bandwidth   gpus   links.latency   host.launch_time                    of the node
    collective_libraries.rccl.channels.maximum                                     of the node
    task.gather.channels   stream.comm.priority   buffer.weights.bytes             of the workload
    workload.host.launch          any other field of the workload
    batch   parallel.prefetch     of the description of an iteration; in a list of several:
                                  parallel.fsdp.prefetch

A path to one task has the singular; the plural selects several, by fields or ``name``, with ``*``
and ``?`` as in names of files:

    tasks[kind=collective].channels            every collective
    tasks[kind=collective,op=all_gather].backend
    tasks[name=layer*_qkv].library

Common words (c3sim/spec/words.py) stand for paths, ``hw.`` may stand before each, and a part of
the GPU does without ``gpu.``; results name the canonical path.

    sdma.count, hw.sdma.engines     gpu.dma_engines.count
    mall.capacity                   gpu.memory_side_cache.capacity
    hw.links.bandwidth              links.bandwidth
    hw.l2.capacity                  gpu.l2.capacity
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from c3sim.errors import InputError, InputErrors
from c3sim.spec.base import Style
from c3sim.spec.fields import attributes_of, fields_of, form_of, inside, inside_model
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.iteration import FIELDS as DESCRIBED
from c3sim.spec.iteration import Described, Iteration, noted
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.reading.documents import Document, plain, read_yaml, scalar
from c3sim.spec.reading.mistakes import convert, mistakes
from c3sim.spec.words import WORDS, new_name, word
from c3sim.spec.workload import Stream, Task, Workload

Model = TypeVar("Model", bound=BaseModel)
_SINGULAR = {"task": "tasks", "stream": "streams", "buffer": "buffers"}
_PARTS_OF_NODE = (
    *("gpu", "links", "host", "host_profiles"),
    *("collective_libraries", "scale_out", "gpus"),
)
_NODE_ROOTS = (*_PARTS_OF_NODE, "name", "description", "grade")
_WORKLOAD_ROOTS = (*_SINGULAR, "workload")
_SELECTOR = re.compile(r"tasks?\[(?P<conditions>[^\]]*)\]\.(?P<rest>.+)")
#: Beside paths of a node, which need none.
NO_WORKLOAD = Workload.model_construct(schema_version=1, name="", tasks={}, streams={}, buffers={})
#: Canonical paths that have another name as well.
_ALSO = {"gpu.dma_engines.engines": "gpu.dma_engines.count"}


class _Target(NamedTuple):
    """The target of a path: the *value* there, what it may be, and the *steps* from the *root*."""

    root: BaseModel
    steps: tuple[str, ...]
    value: Any
    annotation: Any


def get_value(node: Node, workload: Workload, path: str) -> Any:
    """The value at *path*, in SI units. Raises InputError, with the nearest path there is."""
    return _resolve(node, workload, path).value


def unit_of(node: Node, workload: Workload, path: str) -> str:
    """The SI unit of the value at *path*; empty for counts, shares and words. Raises InputError."""
    unit = form_of(_resolve(node, workload, path).annotation).unit
    return unit.si if unit else ""


def is_whole(node: Node, workload: Workload, path: str) -> bool:
    """True if the value at *path* is a whole number: a count, or bytes. Raises InputError."""
    form = form_of(_resolve(node, workload, path).annotation)
    return form.bare is int or (form.unit is not None and form.unit.si == "B")


@lru_cache(maxsize=4096)
def is_of_workload(path: str) -> bool:
    """True if *path* leads into the workload rather than the node."""
    first = canonical(path).split(".")[0]
    return path.startswith(("task[", "tasks[")) or first in _WORKLOAD_ROOTS or first in DESCRIBED


def convert_value(node: Node, workload: Workload, path: str, value: object) -> Any:
    """*value*, as for :func:`set_value`, in SI units; limits of its own are checked, rules of the
    whole are not.

    Raises InputError.
    """
    return _converted(_resolve(node, workload, path), path, value, "text")


def set_value(node: Node, workload: Workload, path: str, value: object) -> tuple[Node, Workload]:
    """New models with *value* at *path*: text as on the command line (``"48 GB/s"``, ``"16"``) or
    Python data.

    Units are converted, limits and names checked. Raises InputError for an unknown path or a value
    that is not allowed; the models given stay as they are.
    """
    return _set(node, workload, path, value, "text")


def set_si(node: Node, workload: Workload, path: str, value: object) -> tuple[Node, Workload]:
    """Set a value as :func:`set_value` does, a plain number being in SI units."""
    return _set(node, workload, path, value, "si")


def set_field(root: Model, path: str, value: object) -> Model:
    """A copy of *root* with *value* at *path*, its field or one inside it; as :func:`set_value`."""
    given: BaseModel = root.in_names(path) if isinstance(root, Iteration) else root
    found: tuple[Any, Any] = (given, type(given))
    steps = tuple(path.split("."))
    for i, step in enumerate(steps):
        further = _into(*found, step)
        if further is None:
            inner = _entries(found[0])
            known = ", ".join(inner) or "nothing, it is a single value"
            before = ".".join(steps[:i]) or "it"
            near = difflib.get_close_matches(step, inner, n=1)
            meant = ".".join([*steps[:i], *near, *steps[i + 1 :]])
            hint = f"did you mean {meant!r}?" if near else f"{before} has: {known}"
            raise InputError(f"unknown path {path!r}; {hint}", path)
        found = further
    si = _converted(_Target(given, steps, *found), path, value, "text")
    changed = _rebuilt(given, steps, si, path)
    assert isinstance(changed, type(root))
    return changed


def _set(
    node: Node, workload: Workload, path: str, value: object, style: Style
) -> tuple[Node, Workload]:
    paths = expanded(workload, path)
    if paths != (path,):
        tasks = dict(workload.tasks)
        for each in paths:
            target = _resolve(node, workload, each)
            si = _converted(target, each, value, style)
            name, *steps = target.steps[1:]
            tasks[name] = _rebuilt(tasks[name], tuple(steps), si, each)
        changed = _checked(workload.changed(tasks=tasks), paths[0])
        return node, noted(changed, path, value, style)
    target = _resolve(node, workload, path)
    si = _converted(target, path, value, style)
    changed = _rebuilt(target.root, target.steps, si, path)
    if isinstance(changed, Iteration):
        return node, workload.changed(iteration=changed)
    if isinstance(changed, Workload):
        return node, noted(_checked(changed, path), path, value, style)
    assert isinstance(changed, Node)  # the only other root
    return still_tuned(node, changed), workload


def still_tuned(before: Node, after: Node) -> Node:
    """*after* with libraries that choose as on *before*: a number set by hand moves alone."""
    if after.gpu is before.gpu or after.gpu.tuned_on is not None:
        return after
    return tuned(after, before.gpu)


def tuned(node: Node, gpu: Gpu | None) -> Node:
    """*node* with libraries that were tuned on *gpu*; None: on its own."""
    if node.gpu.tuned_on is gpu:
        return node
    return node.changed(gpu__tuned_on=gpu)


def _checked(workload: Workload, path: str) -> Workload:
    try:
        check_workload(workload)
    except InputErrors as error:
        raise InputError(error.errors[0].message, path) from None
    return workload


def _converted(target: _Target, path: str, value: object, style: Style) -> Any:
    """*value* as the target holds it, in SI units."""
    meant = interpret(value, path) if isinstance(value, str) else value
    form = form_of(target.annotation)
    whole = isinstance(meant, Mapping) and _is_of_defaults(form.model)
    if not (form.is_single or whole or (meant is None and form.optional)):
        fields = ", ".join(_entries(target.value))
        raise InputError(f"it is not one value; set one of its fields: {fields}", path)
    return convert(target.annotation, meant, style, path)


def _is_of_defaults(model: type[BaseModel] | None) -> bool:
    """True if all fields of *model* may be left out, so that it can be set whole."""
    return model is not None and not any(f.is_required() for f in fields_of(model).values())


def interpret(text: str, path: str) -> object:
    """The value that a text on the command line means: an unquoted value of a file, or a list or a
    mapping in brackets as it stands there. Raises InputError: the bracket is not closed.
    """
    if not text.lstrip().startswith(("[", "{")):
        return scalar(text.strip())
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        found = read_yaml(f"value: {text}", "", [])
    ends = {"[": "]", "{": "}"}
    if found is None and not text.rstrip().endswith(ends[text.lstrip()[0]]):
        opened = text.lstrip()[0]
        raise InputError(f"{text!r} has {opened!r} and no {ends[opened]!r} at its end", path)
    return text if found is None or found.data.keys() != {"value"} else found.data["value"]


def paths_of(node: Node, workload: Workload) -> tuple[str, ...]:
    """Every path that names one value, node first, in declaration order; of an iteration those of
    its description, but not of its tasks.
    """
    paths = list(_leaves(node, ""))
    if isinstance(workload, Described):
        fields = _entries(workload.iteration)
        of_it = (_leaves(fields[name], name) for name in fields if name in DESCRIBED)
        return (*paths, *(path for each in of_it for path in each))
    singular = {plural: word for word, plural in _SINGULAR.items()}
    for name, value in _entries(workload).items():
        if name == "streams":
            used = [task.stream for task in workload.tasks.values() if task.stream]
            value = {**{stream: Stream() for stream in used}, **value}
        paths += _leaves(value, singular.get(name, f"workload.{name}"))
    return tuple(paths)


def _leaves(value: Any, path: str) -> list[str]:
    """The paths of all single values in *value*, which is at *path*."""
    if not _entries(value) and not isinstance(value, dict):
        return [path]
    return [
        leaf
        for key, inner in _entries(value).items()
        for leaf in _leaves(inner, f"{path}.{key}" if path else key)
    ]


def _entries(value: Any) -> dict[str, Any]:
    """The next steps of a path: name in files -> inner value; nothing from a single value. A list
    of models that have a kind is gone through by kind.
    """
    if isinstance(value, BaseModel):
        return {key: getattr(value, name) for key, name in attributes_of(type(value)).items()}
    if isinstance(value, tuple) and value and all(hasattr(each, "kind") for each in value):
        return {each.kind: each for each in value}
    return value if isinstance(value, dict) else {}


def _into(
    value: Any, annotation: Any, step: str, workload: Workload | None = None
) -> tuple[Any, Any] | None:
    """The value that *step* of a path leads to from *value*, and its annotation; or None."""
    if isinstance(value, BaseModel):
        name = attributes_of(type(value)).get(step)
        return None if name is None else (getattr(value, name), inside_model(type(value), step))
    entries = _entries(value)
    if isinstance(value, tuple) and step in entries:
        return entries[step], type(entries[step])
    elif isinstance(value, dict) and step not in value and workload is not None:
        inner = form_of(annotation).arguments[1]
        used = {task.stream for task in workload.tasks.values()}
        return (Stream(), inner) if inner is Stream and step in used else None
    return (entries[step], inside(annotation, step)) if step in entries else None


def _rebuilt(value: Any, steps: tuple[str, ...], si: Any, path: str) -> Any:
    """A copy of *value* with *si* at the end of *steps*; models on the way are validated."""
    if not steps:
        return si
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        inner = value.get(step, Stream())  # only an undeclared stream can be missing
        return {**value, step: _rebuilt(inner, rest, si, path)}
    if isinstance(value, tuple):
        return tuple(
            _rebuilt(each, rest, si, path) if each.kind == step else each for each in value
        )
    model: type[BaseModel] = type(value)
    name = attributes_of(model)[step]
    given = {field: getattr(value, field) for field in value.model_fields_set}
    given[name] = _rebuilt(getattr(value, name), rest, si, path)
    try:
        return model.model_validate(given, strict=True)
    except ValidationError as error:
        first = next(mistakes(error, model, Document(plain(given))))
        raise InputError(first.message, path) from None


def _resolve(node: Node, workload: Workload, path: str) -> _Target:
    """The target of *path*; of a path to several tasks, the first of them."""
    path = expanded(workload, path)[0]
    given, path = path, canonical(path)
    first, *rest = path.split(".")
    root: BaseModel
    if first in DESCRIBED and isinstance(workload, Described):
        root, steps = workload.iteration.in_names(path), (first, *rest)
    elif first in _WORKLOAD_ROOTS:
        root = workload
        steps = tuple(rest) if first == "workload" else (_SINGULAR[first], *rest)
    elif first in _NODE_ROOTS:
        root, steps = node, (first, *rest)
    else:
        allowed = f"paths begin with: {', '.join((*_PARTS_OF_NODE, *_WORKLOAD_ROOTS))}"
        raise InputError(_nowhere(node, workload, given, allowed), given)
    value: Any = root
    annotation: Any = type(root)
    for i, step in enumerate(steps):
        found = _into(value, annotation, step, workload)
        if found is None:
            why = f": {node.name} has none" if value is None else ", it is a single value"
            inner = ", ".join(_entries(value)) or f"nothing{why}"
            before = ".".join(path.split(".")[: len(path.split(".")) - len(steps) + i])
            raise InputError(_nowhere(node, workload, given, f"{before} has: {inner}"), given)
        value, annotation = found
    return _Target(root, steps, value, annotation)


def _nowhere(node: Node, workload: Workload, path: str, allowed: str) -> str:
    steps = canonical(path).split(".")
    names = [new_name(".".join(steps[: i + 1])) or step for i, step in enumerate(steps)]
    if names != steps:
        return f"is called {'.'.join(names)!r} now"
    known = list(paths_of(node, workload))
    first = path.removeprefix("hw.").partition(".")[0]
    meant = word(first)
    if meant is not None or path.startswith("hw."):
        of_node = [each for each in known if not is_of_workload(each)]
        begin = f"{first}." if meant is not None else ""
        known = [text for each in of_node for text in _spellings(each) if begin in text]
    near = difflib.get_close_matches(path, known, n=1, cutoff=0.8)
    near = [each for each in near if not path.startswith(f"{each}.")]  # what is not there
    near = [each for each in known if each == f"workload.{path}"] or near
    hint = allowed if meant is None else f"{first} is {meant.means}"
    return f"unknown path {path!r}; " + (f"did you mean {near[0]!r}?" if near else hint)


@lru_cache(maxsize=65536)
def canonical(path: str) -> str:
    """*path* in the words of the grammar; one that is no alias comes back as it is."""
    bare = path.removeprefix("hw.")
    part, dot, inner = bare.partition(".")
    if part in Node.model_fields:
        path = bare
    elif (known := word(part)) is not None and known.path:
        path = f"{known.path}{dot}{inner}"
    elif bare != path:
        path = f"gpu.{bare}"
    return _ALSO.get(path, path)


def _spellings(path: str) -> list[str]:
    """The other ways to write the canonical *path*: with a user's word, with ``hw.``."""
    ends = [path, *(alias for alias, wanted in _ALSO.items() if wanted == path)]
    found = []
    for end in ends:
        found += [
            f"{name}{end.removeprefix(entry.path)}"
            for name, entry in WORDS.items()
            if entry.path and (end == entry.path or end.startswith(f"{entry.path}."))
        ]
        found.append(end.removeprefix("gpu."))
    return [*found, *(f"hw.{each}" for each in found)]


def expanded(workload: Workload, path: str) -> tuple[str, ...]:
    """The paths of single tasks that *path* stands for; itself if it selects nothing.

    Raises InputError for a condition that is none, and where no task fits.
    """
    found = _SELECTOR.fullmatch(path)
    if found is None:
        return (path,)
    conditions = list(_conditions(found["conditions"], path))
    names = [name for name, task in workload.tasks.items() if _fits(name, task, conditions)]
    if not names:
        kinds = ", ".join(sorted({task.kind for task in workload.tasks.values()}))
        raise InputError(f"no task fits {found['conditions']!r}; kinds of tasks: {kinds}", path)
    return tuple(f"task.{name}.{found['rest']}" for name in names)


def split_setting(text: str) -> tuple[str, str, str]:
    """``PATH=VALUE`` as path, "=" and value, without spaces; an = in brackets is the path's."""
    begin = text.find("]") + 1 if text.lstrip().startswith(("task[", "tasks[")) else 0
    path, equals, value = text[begin:].partition("=")
    return (text[:begin] + path).strip(), equals, value.strip()


def _conditions(text: str, path: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not (equals and key.strip() and value.strip()):
            message = f"{part!r} is no condition; write FIELD=VALUE, as in kind=collective"
            raise InputError(message, path)
        yield key.strip(), value.strip()


def _fits(name: str, task: Task, conditions: list[tuple[str, str]]) -> bool:
    values = (
        (name if key == "name" else getattr(task, key, None), wanted) for key, wanted in conditions
    )
    return all(value is not None and fnmatchcase(str(value), wanted) for value, wanted in values)
