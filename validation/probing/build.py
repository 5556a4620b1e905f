"""Builds the probe, once for each state of sources, compiler and flags."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from c3sim.errors import C3simError, InputError

from .compiler import Compiler

SOURCES = Path(__file__).parent.parent / "probe" / "src"
PROGRAM = "probe"
HEADERS = (".h", ".hpp", ".inc", ".cuh")

Tell = Callable[[str, int, int], None]  # what, how many are done, of how many


class BuildError(C3simError):
    """A command of the build that failed, with all it said."""

    def __init__(self, command: str, code: int, output: str):
        super().__init__(command, code, output)
        self.command, self.code, self.output = command, code, output

    def __str__(self) -> str:
        return (
            f"$ {self.command}\n{self.output.rstrip()}\nthe build failed: exit code "
            f"{self.code} of the command above"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is to be built, and where it goes: a folder named after everything that decides the
    result.
    """

    compiler: Compiler
    version: str
    units: tuple[Path, ...]
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A program; *seconds* is 0 where it was there already."""

    program: Program
    cached: bool
    seconds: float


def cache_folder() -> Path:
    """Where programs are kept between calls: below $XDG_CACHE_HOME, or ~/.cache."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "c3sim" / "probe"


def program(compiler: Compiler, folder: Path | None = None, sources: Path = SOURCES) -> Program:
    """What *compiler* would make of the sources, in *folder* (left out: the cache). Raises
    InputError.
    """
    units = (*sorted(sources.glob("*.cpp")), *sorted((sources / "device").glob("*.cpp")))
    if not units:
        raise InputError("holds no source of the probe; install c3sim again", file=str(sources))
    version = _version(compiler)
    state = hashlib.sha256()
    for text in (compiler.kind, compiler.path, version, *compiler.flags, *compiler.link_flags):
        state.update(f"{text}\0".encode())
    for path in (*units, *_headers(sources)):
        state.update(
            f"{path.relative_to(sources).as_posix()}\0".encode() + path.read_bytes() + b"\0"
        )
    name = f"{compiler.kind}-{compiler.arch}-{state.hexdigest()[:16]}"
    path = (folder or cache_folder()).absolute() / name / PROGRAM
    return Program(compiler=compiler, version=version, units=units, path=path)


def build(
    wanted: Program, tell: Tell = lambda what, done, total: None, sources: Path = SOURCES
) -> Built:
    """Compile every unit, as many at once as there are cores, and link; nothing to do where it is
    there.

    The program appears whole or not at all. Raises BuildError, and InputError where the folder
    cannot be written.
    """
    if os.access(wanted.path, os.X_OK):
        return Built(program=wanted, cached=True, seconds=0.0)
    began = time.monotonic()
    try:
        root = wanted.path.parent.parent
        root.mkdir(parents=True, exist_ok=True)
        work = tempfile.TemporaryDirectory(prefix=".building-", dir=root)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot write: {reason}; give a folder with --build-dir", file=str(error.filename)
        ) from None
    with work:
        built = Path(work.name) / PROGRAM
        objects = _compile(wanted, Path(work.name), tell, sources)
        _call(
            [
                wanted.compiler.path,
                *map(str, objects),
                *wanted.compiler.link_flags,
                "-o",
                str(built),
            ]
        )
        wanted.path.parent.mkdir(exist_ok=True)
        os.replace(built, wanted.path)
    tell("built", len(wanted.units) + 1, len(wanted.units) + 1)
    return Built(program=wanted, cached=False, seconds=time.monotonic() - began)


def _compile(wanted: Program, work: Path, tell: Tell, sources: Path) -> list[Path]:
    """The object files. The first failure stops what has not begun."""
    compiler, total = wanted.compiler, len(wanted.units) + 1
    objects = [work / f"{number}-{unit.stem}.o" for number, unit in enumerate(wanted.units)]
    flags = (*compiler.flags, "-I", str(sources), "-c")
    tell("building", 0, total)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        jobs: list[Future[None]] = [
            pool.submit(_call, [compiler.path, *flags, str(unit), "-o", str(target)])
            for unit, target in zip(wanted.units, objects, strict=True)
        ]
        try:
            for done, job in enumerate(as_completed(jobs), 1):
                job.result()
                tell("building", done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return objects


def _call(command: list[str]) -> None:
    run = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if run.returncode:
        raise BuildError(shlex.join(command), run.returncode, run.stdout.decode(errors="replace"))


def _version(compiler: Compiler) -> str:
    """What the compiler says of itself. Raises InputError when it does not run."""
    try:
        run = subprocess.run(
            [compiler.path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"does not run: {error}; needs a working {compiler.kind}", file=compiler.path
        ) from None
    if run.returncode:
        last = (run.stderr or run.stdout).decode(errors="replace").strip().split("\n")[-1]
        raise InputError(
            (
                f"--version failed with exit code {run.returncode} ({last}); needs a "
                f"working {compiler.kind}"
            ),
            file=compiler.path,
        )
    return run.stdout.decode(errors="replace").strip()


def _headers(sources: Path) -> Iterator[Path]:
    return (
        path for path in sorted(sources.rglob("*")) if path.suffix in HEADERS and path.is_file()
    )
