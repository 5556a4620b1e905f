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
PARTS = 1024  # of nodes, with what was read of each, that are remembered
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
        place = id(now), self
        known = _stood.get(place)
        if known is not None:
            return known[1]
        try:
            leaves = self.look_up(held)
        except KeyError:
            leaves = tuple([held.get(leaf, _MISSING) for leaf in self.leaves])
        inner = [shape.values(held.get(name, _MISSING)) for name, shape in self.inner]
        values = type(now), leaves, *inner, tuple(held) if self.keys else None
        if "_reads" not in held:  # one that is watched has no more than was read of it
            if len(_stood) >= PARTS:
                _stood.clear()
            _stood[place] = now, values  # it keeps its number
        return values


@cache
def _shape(
    whole: bool = False,
    keys: bool = False,
    leaves: tuple[Hashable, ...] = (),
    inner: tuple[tuple[Hashable, Shape], ...] = (),
) -> Shape:
    return Shape(whole, keys, leaves, inner, itemgetter(*leaves) if leaves else _nothing)


def _has_parts(value: object) -> bool:
    return type(value) not in _PLAIN and isinstance(value, (Spec, dict))


def _nothing(_held: object) -> None:
    """No leaves are looked up."""


def _held(value: Any) -> dict[Any, Any] | None:
    """Fields of a model, a mapping itself; None: *value* is neither."""
    held = getattr(value, "__dict__", value)
    return held if type(held) is dict else None


_NOTHING = _shape()
#: What stood where a shape says, in the part of that number, which nothing changes.
_stood: dict[tuple[int, Shape], tuple[Any, Hashable]] = {}
#: Parts that are watched, by the number of the part and what was expected of it: runs share one, as
#: long as none reads more of any.
_shared: dict[tuple[int, Shape], tuple[Any, Reads]] = {}
_news: object = None  # another one since a run has read more than was expected


class Reads:
    """Watches reads of the model or mapping *seen*, beyond what is *expected*: that counts as
    read whether it is or not, and is not watched any more.
    """

    __slots__ = ("before", "expected", "inner", "keys", "leaves", "seen", "whole")

    def __init__(self, seen: Any, expected: Shape = _NOTHING) -> None:
        self.seen, self.expected, self.before = seen, expected, _news
        self.whole, self.keys = expected.whole, expected.keys
        self.leaves: dict[Hashable, None] = {}
        self.inner: dict[Hashable, Reads] = {}

    def note(self, name: Hashable, value: Any) -> Any:
        """*value* of the field or key *name*, watched where more can be read of it."""
        read_more()
        if not _has_parts(value):
            self.leaves[name] = None
            return value
        return self.watch(name, value)

    def watch(self, name: Hashable, value: Any, expected: Shape = _NOTHING) -> Any:
        """*value*, a part under *name* of which no more than what is *expected* has been read."""
        place = id(value), expected
        shared = _shared.get(place)
        if shared is None:
            reads = Reads(value, expected)
            shared = value if expected.whole else _watched(reads), reads
            if len(_shared) >= PARTS:
                _shared.clear()
            _shared[place] = shared
        watching, self.inner[name] = shared
        return watching

    def shape(self) -> Shape:
        """Parts that have been read, as one shape."""
        if self.whole:
            return _shape(whole=True)
        if self.before is _news:
            return self.expected
        before = self.expected
        inner = tuple([(name, reads.shape()) for name, reads in self.inner.items()])
        if not self.leaves and self.keys == before.keys and inner == before.inner:
            return before
        leaves = tuple(dict.fromkeys((*before.leaves, *self.leaves)))
        missed = [each for each in before.inner if each[0] not in self.inner]
        return _shape(False, self.keys, leaves, (*inner, *missed))


def read_more() -> None:
    """Somebody reads more than was expected: parts that are watched are his from now on."""
    global _news
    _shared.clear()
    _news = object()


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
            value = held[name]  # None, where another node has a part
            watching = _has_parts(value)
            known[name] = reads.watch(name, value, inner) if watching else reads.note(name, value)
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
        return iter(self._all_keys())

    def __len__(self) -> int:
        return len(self._all_keys())

    def _all_keys(self) -> dict[Any, Any]:
        """The mapping, of which all keys are read."""
        if not self._reads.keys:
            read_more()
            self._reads.keys = True
        seen: dict[Any, Any] = self._reads.seen
        return seen


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
    if not reads.whole:
        read_more()
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
