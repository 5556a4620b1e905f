"""The base class of everything that a file may say, and how a pass over a file is told apart from
a model that is built in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, ValidationInfo
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from c3sim.spec.words import alias

#: The style of numbers. ``text``, studies: a unit on every value that has a dimension;
#: ``bytes``, workloads: the same, but a plain number from 1024 on may be bytes, as in records;
#: ``si``, JSON records: a plain number is in SI units already; ``leaf``, hardware files: each
#: number is an entry ``{value, source, ...}`` (c3sim/spec/sourced.py).
Style = Literal["leaf", "text", "bytes", "si"]
#: The least plain number that is taken for bytes: one below it is most likely of MiB.
LEAST_BYTES = 1024


class Spec(BaseModel):
    """A frozen model that refuses unknown fields; a field with an alias takes either name.

    The text below a field is its description (:func:`c3sim.spec.fields.descriptions`).
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        allow_inf_nan=False,
        defer_build=True,  # most commands need few of the models
    )

    def changed(self, **values: Any) -> Self:
        """A copy that has *values* instead, which nobody checks. A double underscore leads into a
        part, or into what a mapping has by that name: ``node.changed(gpu__clock__maximum=2e9)``.
        """
        update: dict[str, Any] = {}
        for name, value in values.items():
            own, _, inner = name.partition("__")
            if inner:
                value = _within(update[own] if own in update else getattr(self, own), inner, value)
            update[own] = value
        return self.model_copy(update=update)


def _within(part: Any, name: str, value: Any) -> Any:
    """*part*, a model or a mapping of models, with *value* at *name*."""
    if isinstance(part, Spec):
        return part.changed(**{name: value})
    own, _, inner = name.partition("__")
    return {**part, own: part[own].changed(**{inner: value}) if inner else value}


@dataclass(frozen=True)
class Reading:
    """The context of one pass over what a file says; models that Python builds have none.

    *entries*: of a hardware file, what is said beside each number, by the ``id`` of its mapping.
    """

    style: Style = "text"
    entries: dict[int, Any] = field(default_factory=dict)

    @staticmethod
    def of(info: ValidationInfo) -> Reading | None:
        """The pass in which something is validated, if it is one."""
        return info.context if isinstance(info.context, Reading) else None


def shown(value: object) -> str:
    """*value* as a file has it, on one line and short, for messages."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        text = "[" + ", ".join(shown(item) for item in value[:40]) + "]"
        return text if len(text) <= 60 else f"a list of {len(value)}"
    return "a mapping" if isinstance(value, Mapping) else str(value)


def said(message: str) -> PydanticCustomError:
    """The error that has just this *message*."""
    return PydanticCustomError("said", "{said}", {"said": message})


def _no_truth(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError("literal_error", {"expected": "1"})
    return value


#: The number of a schema. True is no number in a file, though Python takes it for 1.
SchemaOne = Annotated[Literal[1], BeforeValidator(_no_truth)]


class Synonyms:
    """Marks a choice that takes words of other tools as well, such as ``sdma`` for ``dma``."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        allowed = get_args(source)
        return core_schema.no_info_before_validator_function(
            lambda value: alias(value, "value", allowed) if isinstance(value, str) else value,
            handler(source),
        )
