"""The numbers of a node that a run reads, so that its result holds on every node that has them.

A run is a deterministic function of its node, and what it looks at next follows from what it has
seen. On another node, where all that it saw is equal, it would do the same. A run therefore gets
the node *watched*: models that note a field when it is first read, mappings that note a key. What
is asked of a model as a whole (its hash, a copy, its text) notes all of it. *Shape* says which
places were read; models are frozen, so the node that was read says what stood there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from c3sim.spec.base import Spec

Model = TypeVar("Model", bound=Spec)
_MISSING = object()  # of a key that a mapping does not have
_PLAIN = frozenset({float, int, bool, str, tuple, type(None)})


class Shape(NamedTuple):
    """What was read of a model or mapping: all of it (*whole*), which *keys* it has, values of
    fields or keys (*leaves*), and *inner* ones with what was read of them.
    """

    whole: bool
    keys: bool
    leaves: tuple[Hashable, ...]
    inner: tuple[tuple[Hashable, Shape], ...]

    def agree(self, then: Any, now: Any) -> bool:
        """True if all that was read of *then* is the same in *now*."""
        if now is then:
            return True
        if type(now) is not type(then):
            return False
        if self.whole:
            return bool(now == then)
        held, was = (each if isinstance(each, dict) else each.__dict__ for each in (now, then))
        return (
            (not self.keys or tuple(held) == tuple(was))
            and all(
                _same(was.get(leaf, _MISSING), held.get(leaf, _MISSING)) for leaf in self.leaves
            )
            and all(inner.agree(was[name], held.get(name)) for name, inner in self.inner)
        )


def _same(then: Any, now: Any) -> bool:
    return then is now or (type(then) is type(now) and bool(then == now))


_shapes: dict[Shape, Shape] = {}  # most runs have one of few


class Reads:
    """What is being read of the model or mapping *seen*."""

    __slots__ = ("inner", "keys", "leaves", "seen", "whole")

    def __init__(self, seen: Any) -> None:
        self.seen, self.whole, self.keys = seen, False, False
        self.leaves: dict[Hashable, None] = {}
        self.inner: dict[Hashable, Reads] = {}

    def note(self, name: Hashable, value: Any) -> Any:
        """*value* of the field or key *name*, watched where more can be read of it."""
        if type(value) in _PLAIN or not isinstance(value, (Spec, dict)):
            self.leaves[name] = None
            return value
        return _watched(self.inner.setdefault(name, Reads(value)))

    def shape(self) -> Shape:
        """What has been read."""
        if self.whole:
            found = Shape(True, False, (), ())
        else:
            inner = tuple([(name, reads.shape()) for name, reads in self.inner.items()])
            found = Shape(False, self.keys, tuple(self.leaves), inner)
        return _shapes.setdefault(found, found)


def watched(model: Model) -> tuple[Model, Reads]:
    """*model* to be read in its place, and what will have been read of it."""
    reads = Reads(model)
    return cast(Model, _watched(reads)), reads


def _watched(reads: Reads) -> Any:
    if isinstance(reads.seen, dict):
        return _WatchedMapping(reads)
    found = _class(type(reads.seen))
    model: Any = object.__new__(found)
    model.__dict__["_reads"] = reads
    return model


class _WatchedMapping(Mapping[Any, Any]):
    """A mapping that notes each key that is looked up; no dict, so that nothing goes past it."""

    __slots__ = ("_found", "_reads")

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._found: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        if key not in self._found:
            value = self._reads.seen.get(key, _MISSING)
            self._found[key] = self._reads.note(key, value)
        if self._found[key] is _MISSING:
            raise KeyError(key)
        return self._found[key]

    def __iter__(self) -> Iterator[Any]:
        self._reads.keys = True
        return iter(self._reads.seen)

    def __len__(self) -> int:
        self._reads.keys = True
        return len(self._reads.seen)


def _read(self: Any, name: str) -> Any:
    """Value of field *name*, read for the first time; the next time it lies where fields do."""
    held = self.__dict__
    reads = held["_reads"]
    try:
        value = reads.seen.__dict__[name]
    except KeyError:
        raise AttributeError(f"{type(reads.seen).__name__} has no field {name!r}") from None
    value = held[name] = reads.note(name, value)
    return value


def _as_a_whole(name: str) -> Callable[..., Any]:
    """Method *name* of the model that is watched, which reads all of it."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(_all_of(self), name)(*map(_all_of, args), **options)

    return method


def _all_of(value: Any) -> Any:
    """The model or mapping behind *value*, now read as a whole; another *value* as it is."""
    reads = getattr(value, "__dict__", {}).get("_reads")
    if reads is None:
        return value
    reads.whole = True
    return reads.seen


#: Methods of a model that look at all of it.
_WHOLE = (
    *("__eq__", "__hash__", "__iter__", "__repr__", "__str__", "__reduce_ex__"),
    *("__copy__", "__deepcopy__", "model_copy", "model_dump", "model_dump_json"),
)


_classes: dict[Any, Any] = {}  # of models, by the model that they watch


def _class(model: Any) -> Any:
    """*model* whose instances note what is read of them."""
    if model not in _classes:
        made = type(model)(f"Watched{model.__name__}", (model,), {"__module__": model.__module__})
        for name in _WHOLE:
            setattr(made, name, _as_a_whole(name))
        made.__getattr__ = _read
        _classes[model] = made
    return _classes[model]
