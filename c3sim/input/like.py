"""A hardware file that says only what differs from another: what it leaves out is taken over.

Models, and maps of names, are taken over entry by entry, at any depth. A number is one entry with
its source, so it is given whole or not at all; so is a list. ``NAME: null`` in a map drops NAME.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from c3sim.input.conform import BAD
from c3sim.input.leaves import ConformLeaves
from c3sim.input.shapes import Shape, fields_of
from c3sim.input.yaml_nodes import Item, join


@dataclass
class ConformLike(ConformLeaves):
    """One pass over a file. *bases*: path -> the model or map that its values are taken over from;
    *taken*: afterwards, the paths taken over, each with all below it.
    """

    bases: dict[str, Any] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)

    def model(
        self,
        item: Item,
        model: type[BaseModel],
        path: str = "",
        elsewhere: frozenset[str] = frozenset(),
    ) -> Any:
        base = self.bases.get(path)
        known = {}
        if isinstance(base, model):
            known = {
                key: getattr(base, wanted.name)
                for key, wanted in fields_of(model).items()
                if wanted.name in base.model_fields_set and key not in elsewhere
            }
        left_out = self._left_out(item, known, path)
        data = super().model(item, model, path, elsewhere | left_out.keys())
        return data if data is BAD else {**data, **left_out}

    def _map(self, item: Item, shape: Shape, path: str) -> Any:
        base = self.bases.get(path) or {}
        self._left_out(item, base, path)
        entries = item.value if isinstance(item.value, Mapping) else {}
        dropped = {key for key, entry in entries.items() if entry.value is None and key in base}
        if dropped:
            rest = {key: entry for key, entry in entries.items() if key not in dropped}
            item = replace(item, value=rest)
        own = super()._map(item, shape, path)
        if own is BAD:
            return BAD
        order = [key for key in base if key not in dropped]  # the first library is the default
        return {**{key: own.get(key, base[key]) for key in order}, **own}

    def _left_out(self, item: Item, known: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Those of *known* that *item* does not give; what it gives in part has them as its base.

        Nothing where *item* is no mapping: that is a mistake of its own.
        """
        if not isinstance(item.value, Mapping):
            return {}
        left_out = {key: value for key, value in known.items() if key not in item.value}
        given = {join(path, key): known[key] for key in known if key not in left_out}
        self.bases = {**given, **self.bases}
        self.taken += [join(path, key) for key in left_out]
        return left_out
