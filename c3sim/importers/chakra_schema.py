"""The messages of Chakra's ``et_def.proto`` that are read and written, for the protobuf runtime.

Source: chakra/schema/protobuf/et_def.proto of mlc-chakra 1.0.0. Fields that are left out (lists as
attributes, tensors) are skipped, as protobuf does with what it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

Attributes = dict[str, bool | int | str]

#: Data type -> its name in PyTorch, which converters write.
TYPE_NAMES = {"bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float"}
#: Number and name of the node types and collectives.
NODE_TYPES = (
    *("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE"),
    *("COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"),
)
COLLECTIVES = (
    *("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL"),
    *("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"),
)
#: Scalar values of an attribute, in the order of their numbers: 3, 5, 7 ... 31.
SCALARS = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32"),
    *("fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
)
_PACKAGE = "ChakraProtoMsg"
_TEXTS = {"name": 1, "doc_string": 2}
_NODE = (
    *(("id", 1, "uint64"), ("name", 2, "string"), ("type", 3, ".NodeType")),
    *(("ctrl_deps", 4, "uint64*"), ("data_deps", 5, "uint64*")),
    *(("start_time_micros", 6, "uint64"), ("duration_micros", 7, "uint64")),
    *(("inputs", 8, ".IOInfo"), ("outputs", 9, ".IOInfo"), ("attr", 10, ".AttributeProto*")),
)
_MESSAGES = {
    "AttributeProto": (
        *((name, number, "string") for name, number in _TEXTS.items()),
        *((f"{kind}_val", 3 + 2 * place, kind) for place, kind in enumerate(SCALARS)),
    ),
    "IOInfo": (("values", 1, "string"), ("shapes", 2, "string"), ("types", 3, "string")),
    "GlobalMetadata": (("version", 1, "string"), ("attr", 2, ".AttributeProto*")),
    "Node": _NODE,
}


@cache
def messages() -> tuple[Any, Any]:
    """The classes ``GlobalMetadata`` and ``Node``."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_of = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="c3sim/et_def.proto", package=_PACKAGE, syntax="proto3"
    )
    types = file.enum_type.add(name="NodeType")
    for number, name in enumerate(NODE_TYPES):
        types.value.add(name=name, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
        for field, number, kind in fields:
            plain = kind.rstrip("*")
            added = message.field.add(name=field, number=number)
            added.label = field_of.LABEL_REPEATED if kind != plain else field_of.LABEL_OPTIONAL
            if plain.startswith("."):
                added.type = field_of.TYPE_ENUM if "Type" in plain else field_of.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}{plain}"
            else:
                added.type = getattr(field_of, f"TYPE_{plain.upper()}")
            if name == "AttributeProto" and field not in _TEXTS:
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = message_factory.GetMessageClassesForFiles([file.name], pool)
    return found[f"{_PACKAGE}.GlobalMetadata"], found[f"{_PACKAGE}.Node"]


def unpacked(data: bytes) -> Iterator[Any]:
    """The metadata, then nodes: a length of 7 bits a byte, the lowest first, before each."""
    metadata, node = messages()
    place, first = 0, True
    while place < len(data):
        size = shift = 0
        while True:
            byte = data[place]
            size |= (byte & 127) << shift
            place, shift = place + 1, shift + 7
            if byte < 128:
                break
        if place + size > len(data):
            raise ValueError(f"cut off at byte {place}")
        yield (metadata if first else node).FromString(data[place : place + size])
        place, first = place + size, False


def packed(parts: Iterable[Any]) -> bytes:
    """Each message behind its length, 7 bits a byte, the lowest first."""
    found = bytearray()
    for message in parts:
        data = message.SerializeToString()
        length = len(data)
        while length > 127:
            found.append(length & 127 | 128)
            length >>= 7
        found.append(length)
        found += data
    return bytes(found)


def new_node(number: int, name: str, type: str, **fields: Any) -> Any:
    """A node with attributes *attr* and, as lists, *shapes* and *types* of what goes into it."""
    attr, shapes, types = (fields.pop(key, None) for key in ("attr", "shapes", "types"))
    node = messages()[1](id=number, name=name, type=NODE_TYPES.index(type), **fields)
    add(node, attr or {})
    node.inputs.shapes, node.inputs.types = (str(each) if each else "" for each in (shapes, types))
    return node


def add(message: Any, attributes: Mapping[str, bool | int | str]) -> None:
    """Give *message* those *attributes*."""
    kinds = {bool: "bool_val", int: "int64_val", str: "string_val"}
    for name, value in attributes.items():
        message.attr.add(name=name, **{kinds[type(value)]: value})
