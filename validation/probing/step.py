"""One step of a plan: runs it, checks each record as it comes, and writes complete files or none.

STEP.jsonl      the records that c3sim accepts, written when the step has ended, however it ended
STEP.log        the command, then everything the probe said on standard error
STEP.rejected   lines that are no such record, as they came
STEP.part       its standard output as it comes; stays only if c3sim itself is killed
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from c3sim.errors import InputError, InputErrors
from c3sim.input.records import parse_record
from c3sim.output.kit.files import write_bytes
from c3sim.specs.record import Record

from .plan import Step
from .process import End, run_process

Result = Literal["ok", "failed", "skipped", "not run"]
SHOWN = 3  # rejected lines that are explained one by one
LONGEST = 300  # characters of a line that is repeated in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is the same for every step."""

    probe: str
    node: str
    out: Path
    revision: str
    source: str
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one step went. *message* is one line; empty when all is well."""

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
