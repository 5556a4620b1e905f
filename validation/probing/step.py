"""One step of a plan: runs it, checks each record as it comes, and writes complete files or none.

STEP.jsonl      the records that c3sim accepts, written when the step has ended, however it ended
STEP.log        the command, then everything the probe said on standard error
STEP.rejected   lines that are no such record, as they came
STEP.part       its standard output as it comes; stays only if c3sim itself is killed
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from c3sim.errors import InputError, InputErrors
from c3sim.kit.files import write_bytes
from c3sim.spec.reading.records import parse_record
from c3sim.spec.record import Record

from .plan import Step
from .recorded import recall, recalled_machine

Result = Literal["ok", "failed", "skipped", "not run"]
SHOWN = 3  # rejected lines that are explained one by one
LONGEST = 300  # characters of a line that is repeated in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Settings common to all steps."""

    probe: str
    node: str
    out: Path
    revision: str
    source: str
    timeout: float
    recorded: Path | None = None
    """records of an earlier run, in place of the probe"""
    set_clocks: bool = False
    """whether steps may set the core clock of the GPUs"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one step. *message* is one line; empty when all is well."""

    step: Step
    result: Result
    records: int = 0
    rejected: int = 0
    seconds: float = 0.0
    code: int | None = None
    message: str = ""
    interrupted: bool = False
    files: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # what is wrong with the first rejected lines


def command_of(step: Step, setting: Setting) -> list[str]:
    """The command line of *step*: its own words, then what every record has to say of itself."""
    about = {
        "--node": setting.node,
        "--suite": step.suite_name,
        "--role": step.role,
        "--revision": setting.revision,
        "--source": setting.source,
    }
    return [setting.probe, *step.words, *(word for pair in about.items() for word in pair)]


def written_by(step: Step, out: Path) -> dict[str, Path]:
    """The files of *step*, by what they hold."""
    return {kind: out / f"{step.name}.{kind}" for kind in ("jsonl", "log", "rejected", "part")}


@dataclass
class _Lines:
    """Splits a stream into lines and keeps the last one that says something."""

    take: Callable[[bytes], None]
    rest: bytes = b""
    last: str = ""

    def feed(self, piece: bytes) -> None:
        *lines, self.rest = (self.rest + piece).split(b"\n")
        for line in lines:
            self._line(line)

    def finish(self) -> None:
        if self.rest:
            self._line(self.rest)
        self.rest = b""

    def _line(self, line: bytes) -> None:
        said = line.decode(errors="replace").replace("\r", "\n").strip().rpartition("\n")[2].strip()
        self.last = said or self.last
        if said:
            self.take(line)


@dataclass
class _Harvest:
    """Records and what is none, in the order they came."""

    step: Step
    setting: Setting
    good: list[bytes] = field(default_factory=list)
    bad: list[bytes] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def take(self, line: bytes) -> None:
        number = len(self.good) + len(self.bad) + 1
        try:
            record = parse_record(line.decode("utf-8"))
            _is_asked_for(record, self.step, self.setting.node)
        except UnicodeDecodeError:
            self._reject(line, number, "is not UTF-8 text")
        except (InputError, InputErrors) as error:
            self._reject(line, number, "; ".join(str(error).split("\n")))
        else:
            self.good.append(line)

    def _reject(self, line: bytes, number: int, why: str) -> None:
        self.bad.append(line)
        self.remarks.append(f"{self.step.name}: line {number} is no record: {why[:LONGEST]}")


def _is_asked_for(record: Record, step: Step, node: str) -> None:
    wanted = {"node": node, "suite": step.suite_name, "role": step.role}
    for name, value in wanted.items():
        if getattr(record, name) != value:
            raise InputError(f"got {getattr(record, name)!r}; this step asked for {value!r}", name)


def run_step(
    step: Step, setting: Setting, tell: Callable[[int, str], None] = lambda records, last: None
) -> Outcome:
    """Run *step*; whatever happens to it is in the Outcome. *tell*: records so far and the last
    line on standard error.

    Raises InputError only where its files cannot be written.
    """
    command, files = command_of(step, setting), written_by(step, setting.out)
    harvest = _Harvest(step, setting)
    lines, talk = _Lines(harvest.take), _Lines(lambda line: None)
    try:
        with files["part"].open("wb") as part, files["log"].open("wb") as log:
            log.write(f"$ {shlex.join(command)}\n".encode())

            def out(piece: bytes) -> None:
                part.write(piece)
                part.flush()
                lines.feed(piece)

            def err(piece: bytes) -> None:
                log.write(piece)
                log.flush()
                talk.feed(piece)

            if setting.recorded is not None:
                end = _recalled(step, setting.recorded, out)
            else:
                end = run_process(
                    command, setting.timeout, out, err, lambda: tell(len(harvest.good), talk.last)
                )
            lines.finish()
            talk.finish()
            log.write("".join(f"c3sim: {each}\n" for each in harvest.remarks).encode())
            log.write(f"c3sim: {end.words or 'exit code 0'} after {end.seconds:.1f} s\n".encode())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot write: {reason}; needs a writable folder", file=str(setting.out)
        ) from None
    return _outcome(step, harvest, end, talk.last, files)


def _recalled(step: Step, where: Path, out: Callable[[bytes], None]) -> End:
    """The records of *step* in an earlier run."""
    data = recall(where, f"{step.name}.jsonl")
    if data is None:
        return End(code=None, seconds=0.0, reason=f"no {step.name}.jsonl in {where}")
    out(data)
    return End(code=0, seconds=0.0)


def _outcome(step: Step, harvest: _Harvest, end: End, last: str, files: dict[str, Path]) -> Outcome:
    _keep(files["jsonl"], harvest.good)
    files["rejected"].unlink(missing_ok=True)
    _keep(files["rejected"], harvest.bad)
    files["part"].unlink()
    wrong = end.words
    if wrong and last and not end.reason:
        wrong += f": {last[:LONGEST]}"
    if not wrong and harvest.bad:
        wrong = (
            f"{len(harvest.bad)} of {len(harvest.good) + len(harvest.bad)} lines are no "
            f"records, kept in {files['rejected'].name}"
        )
    if not wrong and not harvest.good:
        wrong = "printed no record" + (f": {last[:LONGEST]}" if last else "")
    written = [
        files["log"],
        *([files["jsonl"]] if harvest.good else []),
        *([files["rejected"]] if harvest.bad else []),
    ]
    return Outcome(
        step=step,
        result="failed" if wrong else "ok",
        records=len(harvest.good),
        rejected=len(harvest.bad),
        seconds=end.seconds,
        code=end.code,
        message=wrong,
        interrupted=end.interrupted,
        files=tuple(str(path) for path in written),
        remarks=tuple(harvest.remarks[:SHOWN]),
    )


def _keep(path: Path, lines: list[bytes]) -> None:
    if lines:
        write_bytes(path, b"".join(line.strip() + b"\n" for line in lines))


# One process: its lines as they come, its time limit, and an end that leaves nothing behind.


GRACE = 5.0  # seconds between the polite signal and the one that cannot be refused
TICK = 0.05  # seconds between looks at a running process
DRAIN = 5.0  # seconds to wait for the end of its output when the process itself is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a process: *code* is negative for a signal, None where it could not be started."""

    code: int | None
    seconds: float
    timed_out: bool = False
    interrupted: bool = False
    reason: str = ""  # why it could not be started
    lost: str = ""  # why some of its output could not be taken

    @property
    def words(self) -> str:
        """The end in words, without what the process said; empty when all went well."""
        if self.reason:
            return f"could not be started: {self.reason}"
        if self.interrupted:
            return "interrupted"
        if self.timed_out:
            return f"timed out after {self.seconds:.0f} s"
        if self.code is not None and self.code < 0 and not self.lost:
            return f"ended by signal {_signal_name(-self.code)}"
        if self.lost:
            return f"its output could not be kept ({self.lost})"
        return f"exit code {self.code}" if self.code else ""


def run_process(
    command: Sequence[str],
    timeout: float,
    out: Callable[[bytes], None],
    err: Callable[[bytes], None],
    tick: Callable[[], None] = lambda: None,
) -> End:
    """Run *command*, every piece of its output handed on as it comes, each stream from a thread of
    its own.

    The command and whatever it started are ended after *timeout* seconds, and by an interrupt,
    which is not passed on: the End says it. *tick* is called a few times a second.
    """
    with _heard_interrupts() as heard:
        return _run(command, timeout, out, err, tick, heard)


@contextmanager
def _heard_interrupts() -> Iterator[list[int]]:
    """The interrupts that come meanwhile, noted where they would be raised: one that is raised in
    the midst of ``Popen.poll`` leaves a lock behind, for which ``Popen.wait`` waits for ever.
    """
    heard: list[int] = []
    raising: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        both = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        raising = {number: handler for number, handler in both.items() if callable(handler)}
    try:
        for number in raising:
            signal.signal(number, lambda number, _frame: heard.append(number))
        yield heard
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)


def _run(
    command: Sequence[str],
    timeout: float,
    out: Callable[[bytes], None],
    err: Callable[[bytes], None],
    tick: Callable[[], None],
    heard: Sequence[int],
) -> End:
    """The same, ended by an interrupt once one has been *heard*."""
    began = time.monotonic()
    try:
        process = _started(command)
    except (OSError, ValueError) as error:
        reason = str((isinstance(error, OSError) and error.strerror) or error).lower()
        return End(code=None, seconds=0.0, reason=reason)
    lost: list[str] = []
    readers = _readers(process, out, err, lost)
    timed_out = interrupted = False
    try:
        for reader in readers:
            reader.start()
        while process.poll() is None and not heard:
            if time.monotonic() - began > timeout:
                timed_out = True
                break
            tick()
            time.sleep(TICK)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        _end(process)
    for reader in readers:
        reader.join(DRAIN)
    return End(
        code=process.returncode,
        seconds=time.monotonic() - began,
        timed_out=timed_out,
        interrupted=interrupted or bool(heard),
        lost="; ".join(lost),
    )


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        bufsize=0,
    )


def _readers(
    process: subprocess.Popen[bytes],
    out: Callable[[bytes], None],
    err: Callable[[bytes], None],
    lost: list[str],
) -> list[threading.Thread]:
    assert process.stdout is not None and process.stderr is not None  # both are pipes
    return [
        threading.Thread(target=_read, args=(stream, take, lost), daemon=True)
        for stream, take in ((process.stdout, out), (process.stderr, err))
    ]


def _end_with_parent() -> None:
    """In the child: Linux kills it when the thread that started it is gone, however it went."""
    import ctypes

    set_death_signal = 1  # PR_SET_PDEATHSIG of linux/prctl.h
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def _read(stream: IO[bytes], take: Callable[[bytes], None], lost: list[str]) -> None:
    try:
        with stream:
            while piece := stream.read(1 << 16):
                take(piece)
    except (
        Exception
    ) as error:  # said at the end, by the thread that waits; this one has nobody to tell
        lost.append(str((isinstance(error, OSError) and error.strerror) or error).lower())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the group of the process: politely while it lives, then for good, and whatever it left
    behind.
    """
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # the group is empty already
        os.killpg(process.pid, number)


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


# The machine's own description, asked of the probe.


TIMEOUT = 120.0  # seconds; the first use of a GPU by a process may take many


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """*data* is what ``probe machine`` printed; where it failed, *failure* is why in one line."""

    data: dict[str, Any]
    failure: str = ""
    code: int | None = 0

    @property
    def gpus(self) -> int | None:
        """The number of GPUs; None where it is not known."""
        found = self.data.get("gpus")
        return None if self.failure or not isinstance(found, list) else len(found)


def describe(setting: Setting) -> Description:
    """Output of ``probe machine`` now, or when the records were made."""
    if setting.recorded is not None:
        said = recalled_machine(setting.recorded)
        return Description(data=said or {}, failure="" if said else "not recorded")
    return asked_machine(setting.probe)


def asked_machine(probe: str) -> Description:
    """Run ``probe machine``."""
    out, err = bytearray(), bytearray()
    end = run_process([probe, "machine"], TIMEOUT, out.extend, err.extend)
    if end.interrupted:
        raise KeyboardInterrupt
    said = err.decode(errors="replace").strip().rpartition("\n")[2]
    if end.words:
        return Description(
            data={}, code=end.code, failure=end.words + (f": {said}" if said else "")
        )
    try:
        data = json.loads(out.decode())
    except ValueError as error:
        return Description(data={}, failure=f"printed no JSON ({error})")
    if not isinstance(data, dict) or not isinstance(data.get("gpus"), list):
        return Description(data={}, failure="printed JSON without a list 'gpus'")
    return Description(data=data)
