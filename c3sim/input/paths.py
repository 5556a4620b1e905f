"""One grammar names any value of a node or a workload: ``--set``, sweeps, fits, sources use it.

    gpu.hbm.bandwidth   gpus   links.latency   host.launch_time                    of the node
    collective_libraries.rccl.channels.maximum                                     of the node
    task.gather.channels   stream.comm.priority   buffer.weights.bytes             of the workload
    tasks[kind=collective].channels     of every task that fits (:mod:`c3sim.input.selectors`)
    workload.host.launch          any other field of the workload
    batch   parallel.prefetch     of the description of an iteration; in a list of several:
                                  parallel.fsdp.prefetch

A path to one task has the singular. Common words are aliases (:mod:`c3sim.input.aliases`):
``sdma.count`` and ``hw.sdma.engines`` are ``gpu.dma_engines.count``.
"""

from __future__ import annotations

import difflib
import json
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from c3sim.errors import InputError, InputErrors
from c3sim.input.aliases import canonical, spellings
from c3sim.input.checks.workload import check_workload
from c3sim.input.conform import BAD, Conform, Style
from c3sim.input.constraints import LIMITS
from c3sim.input.renamed import new_name
from c3sim.input.selectors import expanded
from c3sim.input.shapes import Shape, fields_of
from c3sim.input.steps import inner_fields, leaves, rebuilt, step_into
from c3sim.input.synonyms import word
from c3sim.input.yaml_nodes import Item, from_plain, scalar
from c3sim.specs.described import FIELDS as DESCRIBED
from c3sim.specs.described import Described, noted
from c3sim.specs.hardware import Node
from c3sim.specs.iteration import Iteration
from c3sim.specs.workload import Stream, Workload

Model = TypeVar("Model", bound=BaseModel)
_SINGULAR = {"task": "tasks", "stream": "streams", "buffer": "buffers"}
_PARTS_OF_NODE = (
    *("gpu", "links", "host", "host_profiles"),
    *("collective_libraries", "scale_out", "gpus"),
)
_NODE_ROOTS = (*_PARTS_OF_NODE, "name", "description")
_WORKLOAD_ROOTS = (*_SINGULAR, "workload")


class _Target(NamedTuple):
    """Where a path leads: the *value* there, its *shape*, and the *steps* to it from the *root*."""

    root: BaseModel
    steps: tuple[str, ...]
    value: Any
    shape: Shape


def get_value(node: Node, workload: Workload, path: str) -> Any:
    """The value at *path*, in SI units. Raises InputError, with the nearest path there is."""
    return _resolve(node, workload, path).value


def unit_of(node: Node, workload: Workload, path: str) -> str:
    """The SI unit of the value at *path*; empty for counts, shares and words. Raises InputError."""
    unit = _resolve(node, workload, path).shape.unit
    return unit.si if unit else ""


def is_whole(node: Node, workload: Workload, path: str) -> bool:
    """Whether the value at *path* is a whole number: a count, or bytes. Raises InputError."""
    shape = _resolve(node, workload, path).shape
    return shape.kind == "integer" or (shape.unit is not None and shape.unit.si == "B")


def is_of_workload(path: str) -> bool:
    """Whether *path* leads into the workload rather than the node."""
    first = canonical(path).split(".")[0]
    return path.startswith(("task[", "tasks[")) or first in _WORKLOAD_ROOTS or first in DESCRIBED


def convert_value(node: Node, workload: Workload, path: str, value: object) -> Any:
    """*value*, as for :func:`set_value`, in SI units; limits of its own are checked, rules of the
    whole are not.

    Raises InputError.
    """
    target = _resolve(node, workload, path)
    plain, written = _plain_value(target, path, value)
    if isinstance(plain, int | float):
        for name, limit in target.shape.limits.items():
            if not getattr(operator, name)(plain, limit):
                raise InputError(f"got {written.text()}; {LIMITS[name].format(f'{limit:g}')}", path)
    return plain


def set_value(node: Node, workload: Workload, path: str, value: object) -> tuple[Node, Workload]:
    """New models with *value* at *path*: text as on the command line (``"48 GB/s"``, ``"16"``) or
    Python data.

    Units are converted, limits and names checked. Raises InputError for an unknown path or a value
    that is not allowed; the models given stay as they are.
    """
    return _set(node, workload, path, value, "text")


def set_si(node: Node, workload: Workload, path: str, value: object) -> tuple[Node, Workload]:
    """As :func:`set_value`, a plain number being in SI units."""
    return _set(node, workload, path, value, "si")


def set_field(root: Model, path: str, value: object) -> Model:
    """A copy of *root* with *value* at *path*, its field or one inside it; as :func:`set_value`."""
    found: tuple[Any, Shape] = (root, Shape(kind="model", model=type(root)))
    steps = tuple(path.split("."))
    for i, step in enumerate(steps):
        further = step_into(*found, step)
        if further is None:
            known = ", ".join(inner_fields(found[0])) or "nothing, it is a single value"
            before = ".".join(steps[:i]) or "it"
            raise InputError(f"unknown path {path!r}; {before} has: {known}", path)
        found = further
    target = _Target(root, steps, *found)
    plain, written = _plain_value(target, path, value)
    changed = rebuilt(root, steps, plain, path, written)
    assert isinstance(changed, type(root))
    return changed


def _set(
    node: Node, workload: Workload, path: str, value: object, style: Style
) -> tuple[Node, Workload]:
    several = expanded(workload, path)
    if several != (path,):
        changed = _set_all(node, workload, several, value, style)
        return node, noted(changed, path, value, style)
    target = _resolve(node, workload, path)
    plain, written = _plain_value(target, path, value, style)
    changed = rebuilt(target.root, target.steps, plain, path, written)
    if isinstance(changed, Iteration):
        return node, workload.model_copy(update={"iteration": changed})
    if isinstance(changed, Workload):
        return node, noted(_checked(changed, path), path, value, style)
    assert isinstance(changed, Node)  # the only other root
    return changed, workload


def _set_all(
    node: Node, workload: Workload, paths: Sequence[str], value: object, style: Style
) -> Workload:
    """*workload* with *value* at each of *paths*, which lead into tasks; checked once."""
    tasks = dict(workload.tasks)
    for path in paths:
        target = _resolve(node, workload, path)
        plain, written = _plain_value(target, path, value, style)
        name, *steps = target.steps[1:]
        tasks[name] = rebuilt(tasks[name], tuple(steps), plain, path, written)
    return _checked(workload.model_copy(update={"tasks": tasks}), paths[0])


def _checked(workload: Workload, path: str) -> Workload:
    try:
        check_workload(workload)
    except InputErrors as error:
        raise InputError(error.errors[0].message, path) from None
    return workload


def _plain_value(
    target: _Target, path: str, value: object, style: Style = "text"
) -> tuple[Any, Item]:
    """*value* as the target holds it, and as it is written."""
    document = Conform(style=style)
    item = from_plain(_interpret(value) if isinstance(value, str) else value)
    if target.shape.kind in ("model", "map", "tagged") and not (
        item.value is None and target.shape.optional
    ):
        raise InputError(
            "it is not one value; set one of its fields: " + ", ".join(inner_fields(target.value)),
            path,
        )
    plain = document.value(item, target.shape, "")
    if plain is BAD or document.errors:
        raise InputError(document.errors[0].message, path)
    return plain, item


def paths_of(node: Node, workload: Workload) -> tuple[str, ...]:
    """Every path that names one value, node first, in declaration order; of an iteration those of
    its description, but not of its tasks.
    """
    paths = list(leaves(node, ""))
    if isinstance(workload, Described):
        fields = inner_fields(workload.iteration)
        return (
            *paths,
            *(each for name in fields if name in DESCRIBED for each in leaves(fields[name], name)),
        )
    for name in inner_fields(workload):
        value = getattr(workload, fields_of(Workload)[name].name)
        singular = next(
            (word for word, plural in _SINGULAR.items() if plural == name), f"workload.{name}"
        )
        if name == "streams":
            used = [task.stream for task in workload.tasks.values() if task.stream]
            value = {**{stream: Stream() for stream in used}, **value}
        paths += leaves(value, singular)
    return tuple(paths)


def _interpret(text: str) -> object:
    """What a text on the command line means: an unquoted value of a file, or a list in brackets."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return scalar(text.strip())


def _resolve(node: Node, workload: Workload, path: str) -> _Target:
    """Where *path* leads; of a path to several tasks, the first of them."""
    path = expanded(workload, path)[0]
    given, path = path, canonical(path)
    first, *rest = path.split(".")
    root: BaseModel
    if first in DESCRIBED and isinstance(workload, Described):
        root, steps = workload.iteration, (first, *rest)
    elif first in _WORKLOAD_ROOTS:
        root = workload
        steps = tuple(rest) if first == "workload" else (_SINGULAR[first], *rest)
    elif first in _NODE_ROOTS:
        root, steps = node, (first, *rest)
    else:
        allowed = f"paths begin with: {', '.join((*_PARTS_OF_NODE, *_WORKLOAD_ROOTS))}"
        raise InputError(_nowhere(node, workload, given, allowed), given)
    value: Any = root
    shape = Shape(kind="model", model=type(root))
    for i, step in enumerate(steps):
        found = step_into(value, shape, step, workload)
        if found is None:
            why = f": {node.name} has none" if value is None else ", it is a single value"
            inner = ", ".join(inner_fields(value)) or f"nothing{why}"
            before = ".".join(path.split(".")[: len(path.split(".")) - len(steps) + i])
            raise InputError(_nowhere(node, workload, given, f"{before} has: {inner}"), given)
        value, shape = found
    return _Target(root, steps, value, shape)


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
        known = [text for each in of_node for text in spellings(each) if begin in text]
    near = difflib.get_close_matches(path, known, n=1, cutoff=0.8)
    near = [each for each in near if not path.startswith(f"{each}.")]  # what is not there
    near = [each for each in known if each == f"workload.{path}"] or near
    hint = allowed if meant is None else f"{first} is {meant.means}"
    return f"unknown path {path!r}; " + (f"did you mean {near[0]!r}?" if near else hint)
