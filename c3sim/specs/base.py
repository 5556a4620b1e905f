"""The base class of everything that a file may say, and how a pass over a file is told apart from
a model that is built in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, ValidationInfo
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from c3sim.specs.words import alias

#: How numbers are written. ``text``, studies: a unit on every value that has a dimension;
#: ``bytes``, workloads: the same, but a plain number from 1024 on may be bytes, as in records;
#: ``si``, JSON records: a plain number is in SI units already; ``leaf``, hardware files: each
#: number is an entry ``{value, source, ...}`` (c3sim/specs/sourced.py).
Style = Literal["leaf", "text", "bytes", "si"]
#: The least plain number that is taken for bytes: one below it is most likely of MiB.
LEAST_BYTES = 1024


class Spec(BaseModel):
    """A frozen model that refuses unknown fields; a field with an alias takes either name.

    The text below a field is its description.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )


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


class ByForm:
    """Marks a union of which the alternative is meant that is written as the value is: text, list,
    mapping, or a plain value; of several models that with most of its fields.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        options = options_of(source)
        schema = core_schema.tagged_union_schema(
            {str(i): handler.generate_schema(option) for i, option in enumerate(options)},
            lambda value: str(chosen(options, value)),
        )
        optional = type(None) in get_args(source)
        return core_schema.nullable_schema(schema) if optional else schema


def options_of(union: Any) -> tuple[Any, ...]:
    """The alternatives of *union*, but None."""
    return tuple(option for option in get_args(union) if option is not type(None))


def chosen(options: tuple[Any, ...], value: object) -> int:
    """Which of *options* is written as *value* is."""
    form = _form_of(value)
    fitting = [i for i, option in enumerate(options) if _form(option) == form]
    if isinstance(value, BaseModel):
        fitting = [i for i in fitting if options[i] is type(value)] or fitting
    elif isinstance(value, Mapping):
        fitting.sort(key=lambda i: -len(value.keys() & _fields(options[i])))
    others = [i for i, option in enumerate(options) if _form(option) != "text"]
    return (fitting or others or [0])[0]


def _form_of(value: object) -> str:
    if isinstance(value, Mapping | BaseModel):
        return "mapping"
    return "text" if isinstance(value, str) else "list" if isinstance(value, tuple | list) else ""


def _form(annotation: Any) -> str:
    """How a value of that *annotation* is written, where that tells it from others."""
    origin, arguments = getattr(annotation, "__origin__", None), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return _form(arguments[0])
    if origin is tuple:
        return "list"
    if annotation is str or origin is Literal:
        return "text"
    return "" if annotation in (int, float, bool) else "mapping"


def _fields(annotation: Any) -> set[str]:
    fields = getattr(annotation, "model_fields", {})
    return {info.alias or name for name, info in fields.items()}
