"""The nodes of a Chakra trace: protobuf messages, each behind its length, or their JSON form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError

from .schema import COLLECTIVES, NODE_TYPES, messages

_MARKS = ("ctrlDeps", "dataDeps", "ctrl_deps", "data_deps", "COMP_NODE", "COMM_COLL_NODE")


@dataclass(frozen=True, kw_only=True)
class Node:
    """*start*, *duration* [us]; *attributes* by name; *awaits*: nodes that it depends on, *callers*
    among them: those that its control comes from.
    """

    id: int
    name: str
    type: str
    awaits: tuple[int, ...]
    callers: tuple[int, ...]
    start: int
    duration: int
    shapes: str
    types: str
    attributes: Mapping[str, Any]

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU runs it: what communicates, and computation that no host is said to do."""
        if self.type.startswith("COMM_"):
            return True
        return self.type == "COMP_NODE" and not self.attributes.get("is_cpu_op", False)

    @property
    def collective(self) -> str:
        """Name of its collective; empty: it is none that the schema knows."""
        given = self.attributes.get("comm_type", -1)
        if isinstance(given, str):
            return given.upper() if given.upper() in COLLECTIVES else ""
        return COLLECTIVES[given] if 0 <= given < len(COLLECTIVES) else ""


def is_chakra(data: bytes) -> bool:
    """Whether unpacked *data* looks like a Chakra trace, not like one of a profiler."""
    head = data[:4096]
    if head.lstrip()[:1] not in (b"{", b"["):
        return b"\0" in head or not _is_text(head)
    return b"traceEvents" not in data and any(mark.encode() in data for mark in _MARKS)


def _is_text(head: bytes) -> bool:
    return all(byte >= 32 or byte in b"\t\r\n" for byte in head)


def read_nodes(data: bytes, file: str) -> tuple[str, list[Node]]:
    """Version of the schema and nodes. Raises InputError: no such trace, or cut off."""
    text = data.lstrip()[:1] in (b"{", b"[")
    version, nodes = "", []
    try:
        for place, message in enumerate(_of_json(data) if text else _of_protobuf(data)):
            if place == 0 and not hasattr(message, "duration_micros"):
                version = message.version
            else:
                nodes.append(_node(message))
    except (ValueError, IndexError, RecursionError) as error:
        raise InputError(f"is no whole Chakra trace: {error}", file=file) from None
    except Exception as error:  # what protobuf raises of damaged messages
        raise InputError(f"is no Chakra trace: {type(error).__name__}", file=file) from None
    if not nodes:
        raise InputError("is no Chakra trace: it has no nodes", file=file)
    return version, nodes


def _of_protobuf(data: bytes) -> Iterator[Any]:
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


def _of_json(data: bytes) -> Iterator[Any]:
    """Objects one after the other, as Chakra's own tool writes them, or in a list or ``nodes``."""
    from google.protobuf.json_format import ParseDict

    metadata, node = messages()
    for each in _objects(data.decode("utf-8-sig")):
        if "version" in each and "id" not in each and "type" not in each:
            yield ParseDict(each, metadata(), ignore_unknown_fields=True)
        else:
            yield ParseDict(each, node(), ignore_unknown_fields=True)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder, place = json.JSONDecoder(), 0
    while (begin := len(text) - len(text[place:].lstrip())) < len(text):
        found, place = decoder.raw_decode(text, begin)
        if isinstance(found, dict) and isinstance(found.get("nodes"), list):
            found = found["nodes"]
        yield from found if isinstance(found, list) else [found]


def _node(message: Any) -> Node:
    attributes = {
        each.name: getattr(each, kind)
        for each in message.attr
        if (kind := each.WhichOneof("value")) is not None
    }
    return Node(
        id=message.id,
        name=message.name,
        type=NODE_TYPES[message.type] if message.type < len(NODE_TYPES) else NODE_TYPES[0],
        awaits=(*message.data_deps, *message.ctrl_deps),
        callers=tuple(message.ctrl_deps),
        start=message.start_time_micros,
        duration=message.duration_micros,
        shapes=message.inputs.shapes,
        types=message.inputs.types,
        attributes=attributes,
    )
