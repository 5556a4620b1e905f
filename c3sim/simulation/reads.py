"""The numbers of a node that a run reads, so that its result holds on every node that has them.

A run is a deterministic function of its node, and what it looks at next follows from what it has
seen. On another node, where all that it saw is equal, it would do the same. A run therefore gets
the node *watched*: models that note a field when it is first read, mappings that note a key. What
is asked of a model as a whole (its hash, a copy, its text) notes all of it. *Shape* says which
places were read; models are frozen, so the node that was read says what stood there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, TypeVar, cast

from c3sim.spec.base import Spec

Model = TypeVar("Model", bound=Spec)
_MISSING = object()  # of a key that a mapping does not have
_PLAIN = frozenset({float, int, bool, str, tuple, type(None)})


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Parts of a model or mapping that were read: all of it (*whole*), which *keys* it has, values
    of fields or keys (*leaves*), and *inner* ones with what was read of them. Equal ones are one
    (:func:`_shape`).
    """

    whole: bool
    keys: bool
    leaves: tuple[Hashable, ...]
    inner: tuple[tuple[Hashable, Shape], ...]
    look_up: Callable[[Any], Any]  # *leaves* of a dictionary that has them all

    def __reduce__(self) -> tuple[Any, ...]:
        return _shape, (self.whole, self.keys, self.leaves, self.inner)

    def values(self, now: Any) -> Hashable:
        """All that was read, as it stands in *now*: where that is equal, a run does the same."""
        held = _held(now)
        if self.whole or held is None:
            return now  # type: ignore[no-any-return]
        try:
            leaves = self.look_up(held)
        except KeyError:
            leaves = tuple([held.get(leaf, _MISSING) for leaf in self.leaves])
        inner = [shape.values(held.get(name, _MISSING)) for name, shape in self.inner]
        return type(now), leaves, *inner, tuple(held) if self.keys else None


@cache
def _shape(
    whole: bool = False,
    keys: bool = False,
    leaves: tuple[Hashable, ...] = (),
    inner: tuple[tuple[Hashable, Shape], ...] = (),
) -> Shape:
    return Shape(whole, keys, leaves, inner, itemgetter(*leaves) if leaves else _nothing)


def _nothing(_held: object) -> None:
    """No leaves are looked up."""


def _held(value: Any) -> dict[Any, Any] | None:
    """Fields of a model, a mapping itself; None: *value* is neither."""
    held = getattr(value, "__dict__", value)
    return held if type(held) is dict else None


_NOTHING = _shape()


class Reads:
    """Watches reads of the model or mapping *seen*, beyond what is *expected*: that counts as
    read whether it is or not, and is not watched any more.
    """

    __slots__ = ("expected", "inner", "keys", "leaves", "seen", "whole")

    def __init__(self, seen: Any, expected: Shape = _NOTHING) -> None:
        self.seen, self.expected = seen, expected
        self.whole, self.keys = expected.whole, expected.keys
        self.leaves: dict[Hashable, None] = {}
        self.inner: dict[Hashable, Reads] = {}

    def note(self, name: Hashable, value: Any, expected: Shape = _NOTHING) -> Any:
        """*value* of the field or key *name*, watched where more can be read of it."""
        if type(value) in _PLAIN or not isinstance(value, (Spec, dict)):
            self.leaves[name] = None
            return value
        reads = self.inner[name] = Reads(value, expected)
        return value if expected.whole else _watched(reads)

    def shape(self) -> Shape:
        """Parts that have been read, as one shape."""
        before = self.expected
        inner = tuple([(name, reads.shape()) for name, reads in self.inner.items()])
        if self.whole:
            return _shape(whole=True)
        if not self.leaves and self.keys == before.keys and inner == before.inner:
            return before
        leaves = tuple(dict.fromkeys((*before.leaves, *self.leaves)))
        missed = [each for each in before.inner if each[0] not in self.inner]
        return _shape(False, self.keys, leaves, (*inner, *missed))


def watched(model: Model, expected: Shape = _NOTHING) -> tuple[Model, Reads]:
    """*model* to be read in its place, and what will have been read of it: all that is *expected*,
    as the same run read it of another model, costs next to nothing; what else, is noted.
    """
    reads = Reads(model, expected)
    return cast(Model, _watched(reads)), reads


def _watched(reads: Reads) -> Any:
    """The model or mapping that *reads* are of, with all that they expect in its place."""
    expected, held = reads.expected, _held(reads.seen)
    assert held is not None
    known = {name: held.get(name, _MISSING) for name in expected.leaves}
    for name, inner in expected.inner:
        if name in held:
            known[name] = reads.note(name, held[name], inner)
    if isinstance(reads.seen, dict):
        return _WatchedMapping(reads, known)
    model: Any = object.__new__(_class(type(reads.seen)))
    model.__dict__.update(known, _reads=reads)
    return model


class _WatchedMapping(Mapping[Any, Any]):
    """A mapping that notes each key that is looked up; no dict, so that nothing goes past it."""

    __slots__ = ("_found", "_reads")

    def __init__(self, reads: Reads, found: dict[Any, Any]) -> None:
        self._reads, self._found = reads, found

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
