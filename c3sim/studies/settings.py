"""Values set for a whole study: each becomes an axis, so it wins over file and scenarios."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from c3sim.specs.study import Study


def with_settings(study: Study, settings: Mapping[str, object]) -> Study:
    """*study* with an axis for each path of *settings*; ``[0.5, 0.9]`` is several values."""
    axes = {path: _values(value) for path, value in settings.items()}
    return study.model_copy(update={"axes": {**study.axes, **axes}})


def _values(value: object) -> tuple[Any, ...]:
    if isinstance(value, list | tuple):
        return tuple(value)
    text = value.strip() if isinstance(value, str) else ""
    if not (text.startswith("[") and text.endswith("]")):
        return (value,)
    try:
        return tuple(json.loads(text))
    except ValueError:  # words and quantities need no quotes
        return tuple(part.strip() for part in text[1:-1].split(",") if part.strip())
