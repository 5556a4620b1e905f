"""Opens a log, plain or gzipped, finds its format and hands its text to the importer."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from c3sim.errors import InputError, InputErrors, reason_of
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.loading import load_hardware
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record

from .formats import find_format
from .loops.records import records_of_loops
from .result import Given, ImportResult, LoopTrace, Remark, Role

LARGEST = 4 * 1024**3  # of unpacked text
ROLES: tuple[Role, ...] = ("calibration", "validation")


@dataclass(frozen=True, kw_only=True)
class Target:
    """What the user says about the logs; *known* is the node, if there is one of that name."""

    node: str
    role: Role
    suite: str
    assume: Mapping[str, str]
    known: Node | None


def find_target(node: str, role: str, suite: str, assume: Mapping[str, str]) -> tuple[Target, str]:
    """The target, and a warning where no node is called that. Raises InputError: no such role."""
    chosen = next((each for each in ROLES if each == role), None)
    if chosen is None:
        raise InputError(f"got {role!r}; must be calibration or validation", "--role")
    if not node.strip():
        raise InputError("is empty; must be the node the logs were measured on", "--node")
    target = Target(node=node, role=chosen, suite=suite, assume=assume, known=None)
    try:
        return replace(target, known=load_hardware(node).node), ""
    except (InputError, InputErrors) as error:
        first = str(error).split("\n")[0]
        doubt = "the records name it all the same, but cannot be validated without it"
        return target, f"--node: {first}; {doubt}"


def import_file(path: Path, format: str, target: Target) -> ImportResult:
    """Raises InputError for a file that cannot be opened or whose format is not known."""
    data = _bytes(path)
    origin = f"{path.name} sha256:{hashlib.sha256(data).hexdigest()[:12]}"
    text, fault = _text(data, path)
    given = Given(
        node=target.node,
        origin=origin,
        file=path.name,
        role=target.role,
        suite=target.suite,
        assume=target.assume,
        gpus=target.known.gpus if target.known else None,
    )
    if not text.strip():
        raise InputError("the file is empty; must be a log", file=str(path))
    result = find_format(format, text, str(path)).read(text, given)
    remarks = [
        *result.remarks,
        *([Remark(fault, 0, lost=True)] if fault else []),
        *_other_device(result, target),
    ]
    if any(remark.lost for remark in remarks):
        for record in result.records:
            record["source"] += "; from a partial log"
    return replace(result, remarks=(*remarks, *_not_runnable(result, target)))


def read_log(path: Path) -> tuple[str, str]:
    """Its text, unpacked, and what is wrong with its end. Raises InputError."""
    return _text(_bytes(path), path)


def combine_loops(loops: Sequence[LoopTrace], target: Target) -> ImportResult:
    """Records of the loops that traces of several ranks tell of."""
    given = Given(
        node=target.node,
        origin=f"{len(loops)} profiler traces of validation/frameworks",
        role=target.role,
        suite=target.suite,
        assume=target.assume,
        gpus=target.known.gpus if target.known else None,
    )
    result = records_of_loops(loops, given)
    return replace(result, remarks=(*result.remarks, *_not_runnable(result, target)))


def _other_device(result: ImportResult, target: Target) -> list[Remark]:
    """The header names GPUs that are not those of the node."""
    if target.known is None or not result.records:
        return []
    facts = result.records[0]["source"]
    own = target.known.gpu.name
    vendors = ("NVIDIA", "AMD")
    named = next(
        (part for part in facts.replace("; ", ", ").split(", ") if any(v in part for v in vendors)),
        "",
    )
    if not named or own.split()[-1].lower() in named.lower():
        return []
    return [Remark(f"the log names {named}, but node {target.node!r} has {own}: is --node right?")]


def _not_runnable(result: ImportResult, target: Target) -> list[Remark]:
    """What keeps the node from running the records, such as a library it does not describe."""
    if target.known is None:
        return []
    reasons: dict[str, int] = {}
    for record in result.records:
        try:
            check_on_node(Record.model_validate(record).workload, target.known)
        except InputErrors as error:
            for each in error.errors:
                reasons[each.message] = reasons.get(each.message, 0) + 1
    return [
        Remark(f"{count} records cannot be run on node {target.node!r} as it stands: {reason}")
        for reason, count in reasons.items()
    ]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"cannot be read ({reason_of(error)}); must be a readable file"
        raise InputError(message, file=str(path)) from None


def _text(data: bytes, path: Path) -> tuple[str, str]:
    """The text, and what is wrong with its end. A cut gzip file gives what can be unpacked."""
    fault = ""
    if data[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(wbits=31)
        try:
            data = unpacker.decompress(data, LARGEST)
        except zlib.error as error:
            raise InputError(f"damaged gzip data ({error})", file=str(path)) from None
        if not unpacker.eof:
            fault = "the gzip data are cut off; what could be unpacked was read"
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n"), fault
    except UnicodeDecodeError as error:
        if fault and error.end == len(data):
            return data[: error.start].decode("utf-8-sig"), fault
        line = data.count(b"\n", 0, error.start) + 1
        message = (
            f"byte 0x{data[error.start]:02x} is not UTF-8 text; must be a text log or a gzipped one"
        )
        raise InputError(message, file=str(path), line=line) from None
