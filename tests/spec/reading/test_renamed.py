"""The table of former names: every new name is a field of a node file, no old one is."""

from __future__ import annotations

from typing import Any

import pytest

from c3sim.spec.hardware import Node
from c3sim.spec.words import RENAMED


def field_names(schema: Any) -> set[str]:
    """Every name of a property in a JSON Schema."""
    if isinstance(schema, list):
        return set().union(*map(field_names, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(field_names, schema.values()))


FIELDS = field_names(Node.model_json_schema())


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_a_former_name_leads_to_a_field_of_today(old: str, new: str) -> None:
    assert set(new.split(".")) <= FIELDS
    assert old.rpartition(".")[2] not in FIELDS
