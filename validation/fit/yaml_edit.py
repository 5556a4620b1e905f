"""Replaces single values in a YAML text and leaves everything else, comments included, as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

from c3sim.errors import InputError

Path = Sequence[str]


def replace_values(text: str, changes: Mapping[tuple[str, ...], str], file: str = "") -> str:
    """*text* with each value replaced. A path is a sequence of keys; the new value is written as
    given.

    Raises InputError for a path that does not lead to a single value.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    places = []
    for path, new in changes.items():
        found = _find(root, path)
        if not isinstance(found, yaml.ScalarNode):
            raise InputError(
                "is not a single value in the file; it cannot be replaced", ".".join(path), file
            )
        places.append((found.start_mark.index, found.end_mark.index, new))
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _find(node: yaml.Node | None, path: Path) -> yaml.Node | None:
    for key in path:
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for name, value in node.value if name.value == key), None)
    return node
