"""Formats of logs, packaged and of entry points; opens a log, plain or gzipped, finds its format
and hands its text to the importer.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules

from c3sim.errors import InputError, InputErrors, short
from c3sim.evaluation.effort import Effort
from c3sim.importers.loops import records_of_loops
from c3sim.importers.result import Given, ImportResult, LoopTrace, Remark, Role
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.files import MIB, read_bytes
from c3sim.spec.reading.hardware import load_node
from c3sim.spec.reading.library import names
from c3sim.spec.record import Record
from c3sim.spec.words import unknown

from .result import Format

PARAMETERS = (
    "on NVIDIA GPUs TransferBench has launch parameters in managed memory, which adds 80 to 390 us"
    " to copies by kernels; their records have parameters: managed"
)
USUAL, LARGEST = 256 * MIB, 4096 * MIB  # of unpacked text: without asking, and at all
MEMORY = 6  # bytes in use per byte of text, about: text, lines, and what JSON becomes
READ_S = 0.12e-6  # per byte of text, of traces of 35 MB; other logs take less
SAMPLE = 2**16  # bytes of a packed log that tell how much it is unpacked
PIECE = 2**20  # bytes that are unpacked at a time
MOST_LINES = 5_000_000  # without asking: each is an object of its own
MOST_DIGITS = 1000
_TOO_LONG, _JSON = re.compile(rf"[0-9]{{{MOST_DIGITS + 1}}}"), re.compile(r"\s*[{\[]")
_BLANKS = re.compile(r"[ \t]{65,}")  # wider than any table; patterns go over them again and again
ROLES: tuple[Role, ...] = ("calibration", "validation")


@dataclass(frozen=True, kw_only=True)
class Target:
    """Facts that the user gives about the logs; *known* is the node, if there is one of that
    name.
    """

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
        known = load_node(node)
        return replace(target, node=known.name, known=known), ""
    except (InputError, InputErrors) as error:
        first = str(error).split("\n")[0]
        doubt = "the records name it all the same, but cannot be validated without it"
        return target, f"--node: {short(first, 180)}; {doubt}"


def import_file(path: Path, format: str, target: Target, *, large: bool = False) -> ImportResult:
    """Raises InputError for a file that cannot be opened or whose format is not known, and unless
    *large* for more text than USUAL.
    """
    largest = most_text(large)
    data = read_bytes(path, largest)
    origin = f"{path.name} sha256:{hashlib.sha256(data).hexdigest()[:12]}"
    text, fault = _text(data, path, largest)
    given = Given(
        node=target.node,
        origin=origin,
        file=path.name,
        role=target.role,
        suite=target.suite,
        assume=target.assume,
        gpus=target.known.gpus if target.known else None,
        profiles=tuple(target.known.host_profiles) if target.known else (),
        gpu=target.known.gpu.name if target.known else "",
    )
    if not text.strip():
        raise InputError("the file is empty; must be a log", file=str(path))
    _check_numbers(text, path)
    try:
        result = find_format(format, text, str(path)).read(text, given)
    except InputError as error:
        raise InputError(error.message, error.path, str(path), error.line) from None
    remarks = [
        *result.remarks,
        *([Remark(fault, 0, lost=True)] if fault else []),
        *_other_device(result, target),
        *_conditions(result, target),
    ]
    if any(remark.lost for remark in remarks):
        for record in result.records:
            record["source"] += "; from a partial log"
    return replace(result, remarks=(*remarks, *_not_runnable(result, target)))


def _check_numbers(text: str, path: Path) -> None:
    """Raises InputError for a number that no tool writes; what reads JSON says it by itself."""
    if not _JSON.match(text) and (found := _TOO_LONG.search(text)):
        message = f"a number of more than {MOST_DIGITS} digits; no tool writes such"
        line = text.count("\n", 0, found.start()) + 1
        raise InputError(message, file=str(path), line=line)


def fitting_nodes(path: Path, format: str) -> list[str]:
    """Packaged nodes with as many GPUs, and of the name, as the header of the log has; none where
    it has no such header. Raises InputError, as :func:`import_file`.
    """
    target = Target(node="none", role="validation", suite="", assume={}, known=None)
    records = import_file(path, format, target).records
    facts = str(records[0]["source"]).lower() if records else ""
    known = {name: load_node(name) for name in names("node")}
    return [
        name
        for name, node in known.items()
        if f"{node.gpus} x " in facts and node.gpu.name.split()[-1].lower() in facts
    ]


def read_log(path: Path, *, large: bool = False) -> tuple[str, str]:
    """Text of the log, unpacked, and faults of its end. Raises InputError, as
    :func:`import_file`.
    """
    largest = most_text(large)
    return _text(read_bytes(path, largest), path, largest)


def effort_of_logs(paths: Sequence[Path]) -> Effort:
    """Time and memory of reading *paths*, files or folders of traces, by the size of their text."""
    files = [file for path in paths for file in (path.iterdir() if path.is_dir() else (path,))]
    sizes = [_text_bytes(file) for file in files if file.is_file()]
    return Effort(READ_S * sum(sizes), MEMORY * max(sizes, default=0.0))


def _text_bytes(path: Path) -> float:
    """Bytes of its text, about: of a gzip file, as its beginning unpacks; 0 where it is not read,
    which is said when it is.
    """
    try:
        with path.open("rb") as file:
            head, size = file.read(SAMPLE), path.stat().st_size
        if head[:2] != b"\x1f\x8b":
            return size
        return size / len(head) * len(zlib.decompressobj(wbits=31).decompress(head))
    except (OSError, zlib.error):
        return 0.0


def most_text(large: bool) -> int:
    """Bytes of text that are read of a log: USUAL; *large*: as many as half of the memory that is
    free now has room for, LARGEST at most.
    """
    if not large:
        return USUAL
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    except (OSError, StopIteration, ValueError):  # another system: not known
        return LARGEST
    return max(USUAL, min(LARGEST, free * 1024 // (2 * MEMORY)))


def read_unpacked(path: Path, *, large: bool = False) -> bytes:
    """Bytes of the file, unpacked as far as possible. Raises InputError: damaged, or too large."""
    largest = most_text(large)
    data = read_bytes(path, largest)
    _check_size(data, path, largest)
    return b"".join(_no_more(_unpacked(data, path, []), path, largest))


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


def _conditions(result: ImportResult, target: Target) -> list[Remark]:
    """Remarks on times of a format that hold more than the work, on the node's GPUs."""
    gpu = target.known.gpu.name if target.known else ""
    if result.format == "TransferBench" and "NVIDIA" in gpu and result.records:
        return [Remark(PARAMETERS)]
    return []


def _not_runnable(result: ImportResult, target: Target) -> list[Remark]:
    """Remarks on why the node cannot run the records, such as a library it does not describe."""
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


def _text(data: bytes, path: Path, largest: int) -> tuple[str, str]:
    """The text, and what is wrong with its end. A cut gzip file gives what can be unpacked. Pieces
    are decoded as they are unpacked, so that no more than the text is held.
    """
    _check_size(data, path, largest)
    faults: list[str] = []
    decoder, texts, lines = getincrementaldecoder("utf-8-sig")(), list[str](), 0
    for piece in chain(_no_more(_unpacked(data, path, faults), path, largest), (b"",)):
        try:
            last = not piece and not faults  # what is cut off may end within a character
            texts.append(_BLANKS.sub(" " * 64, decoder.decode(piece, final=last)))
        except UnicodeDecodeError as error:
            line = lines + error.object.count(b"\n", 0, error.start) + 1
            message = f"byte 0x{error.object[error.start]:02x} is not UTF-8 text"
            needs = "must be a text log or a gzipped one"
            raise InputError(f"{message}; {needs}", file=str(path), line=line) from None
        lines += piece.count(b"\n")
    text = "".join(texts)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, "".join(faults)


def _check_size(data: bytes, path: Path, largest: int) -> None:
    """Raises InputError for too much text before any of it is held, where that may be a lot."""
    if largest > USUAL:
        for _ in _no_more(_unpacked(data, path, []), path, largest):
            pass


def _unpacked(data: bytes, path: Path, faults: list[str]) -> Iterator[bytes]:
    """*data* without gzip, in pieces; what is wrong with its end goes to *faults*."""
    if data[:2] != b"\x1f\x8b":
        yield from (data[at : at + PIECE] for at in range(0, len(data), PIECE))
        return
    unpacker = zlib.decompressobj(wbits=31)
    try:
        for at in range(0, len(data), SAMPLE):
            packed = data[at : at + SAMPLE]
            while packed and not unpacker.eof:
                if piece := unpacker.decompress(packed, PIECE):
                    yield piece
                packed = unpacker.unconsumed_tail
    except zlib.error as error:
        raise InputError(f"damaged gzip data ({error})", file=str(path)) from None
    if not unpacker.eof:
        faults.append("the gzip data are cut off; what could be unpacked was read")


def _no_more(pieces: Iterable[bytes], path: Path, largest: int) -> Iterator[bytes]:
    """*pieces*. Raises InputError: more than *largest* bytes, or as many lines as take as much
    memory.
    """
    size, lines, most = 0, 0, MOST_LINES if largest <= USUAL else float("inf")
    for piece in pieces:
        size, lines = size + len(piece), lines + piece.count(b"\n")
        if size > largest or lines > most:
            what = f"{largest // MIB} MiB of text" if size > largest else f"{MOST_LINES} lines"
            more = "half of the free memory has room for no more"
            if largest <= USUAL:
                more = f"about {MEMORY} times as much memory"
                more += " (--yes reads up to 4096 MiB all the same)"
            raise InputError(f"more than {what}; {more}; trace fewer steps", file=str(path))
        yield piece


GROUP = "c3sim.importers"


@cache
def formats() -> tuple[Format, ...]:
    """All formats, in the order in which they are tried."""
    package = __name__.rpartition(".")[0]
    folder = import_module(package).__path__
    places = [import_module(f"{package}.{each.name}") for each in iter_modules(folder)]
    places += [each.load() for each in entry_points(group=GROUP)]
    found = [each for place in places for each in getattr(place, "FORMATS", ())]
    return tuple(sorted(found, key=lambda each: each.turn))


def find_format(name: str, text: str, file: str) -> Format:
    """The format called *name*, or with ``auto`` the one *text* is in. Raises InputError."""
    names = [each.name for each in formats()]
    if name not in ("auto", *names):
        raise InputError(unknown("format", name, ["auto", *names]), "--format")
    for each in formats():
        if each.name == name or (name == "auto" and each.recognise(text)):
            return each
    message = f"in no known format ({', '.join(names)}); --format names one"
    raise InputError(message, file=file)
