"""The base class of everything that a file may say."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A frozen model that refuses unknown fields; a field with an alias takes either name.

    The text below a field is its description.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True
    )
