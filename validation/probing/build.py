"""Builds the probe, once for each state of sources, compiler and flags."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from c3sim.errors import C3simError, InputError
from c3sim.spec.words import unknown

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
    """Program to build, and its folder: a folder named after everything that decides the
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
    """The folder of programs between calls: below $XDG_CACHE_HOME, or ~/.cache."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "c3sim" / "probe"


def program(compiler: Compiler, folder: Path | None = None, sources: Path = SOURCES) -> Program:
    """Path of the program that *compiler* builds, in *folder* (left out: the cache). Raises
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
    """Version of the compiler. Raises InputError when it does not run."""
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


# The compiler on this machine: hipcc of ROCm or nvcc of CUDA, on the PATH or where installers put
# them.


#: Variables that name the folder of an installation, then the usual folders; newest version last.
VARIABLES = {"hipcc": ("ROCM_PATH", "HIP_PATH"), "nvcc": ("CUDA_HOME", "CUDA_PATH")}
PLACES = {"hipcc": ("/opt/rocm", "/opt/rocm-*"), "nvcc": ("/usr/local/cuda", "/usr/local/cuda-*")}
#: Files that the driver of the machine puts there: decides when both compilers are found.
DEVICES = {"hipcc": Path("/dev/kfd"), "nvcc": Path("/dev/nvidiactl")}
DEFAULT_ARCH = {"hipcc": "gfx942", "nvcc": "sm_90"}
KINDS = tuple(DEFAULT_ARCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """One compiler and the architecture it compiles for."""

    kind: str
    path: str
    arch: str

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of every translation unit."""
        if self.kind == "nvcc":
            return ("-std=c++17", "-O2", f"-arch={self.arch}", "-x", "cu")
        return ("-std=c++17", "-O2", f"--offload-arch={self.arch}")

    @property
    def link_flags(self) -> tuple[str, ...]:
        """Flags of the linker."""
        target = f"-arch={self.arch}" if self.kind == "nvcc" else f"--offload-arch={self.arch}"
        return (target, "-ldl", "-lpthread")


def find_compiler(
    kind: str = "", arch: str = "", environment: Mapping[str, str] | None = None
) -> Compiler:
    """The compiler of that *kind*, or the one for the devices of this machine. Raises InputError
    where there is none.
    """
    if kind and kind not in KINDS:
        raise InputError(unknown("compiler", kind, KINDS), "--compiler")
    variables = os.environ if environment is None else environment
    wanted = [kind] if kind else list(KINDS)
    found = {name: path for name in wanted if (path := next(_places(name, variables), ""))}
    if not found:
        raise InputError(_missing(wanted))
    with_device = [name for name in found if DEVICES[name].exists()]
    best = (with_device or list(found))[0]
    return Compiler(kind=best, path=found[best], arch=arch or DEFAULT_ARCH[best])


def _places(kind: str, variables: Mapping[str, str]) -> Iterator[str]:
    on_path = shutil.which(kind, path=variables.get("PATH", ""))
    if on_path:
        yield on_path
    folders = [Path(variables[name]) for name in VARIABLES[kind] if variables.get(name)]
    for pattern in PLACES[kind]:
        root, _, name = pattern.rpartition("/")
        folders += sorted(Path(root).glob(name), reverse=True)
    for folder in folders:
        file = folder / "bin" / kind
        if os.access(file, os.X_OK) and file.is_file():
            yield str(file)


def _missing(wanted: list[str]) -> str:
    where = "; ".join(
        (
            f"{kind} (PATH, {', '.join('$' + name for name in VARIABLES[kind])}, "
            f"{', '.join(PLACES[kind])})"
        )
        for kind in wanted
    )
    how = {
        "hipcc": "for AMD install ROCm's hipcc (apt install hipcc, or rocm.docs.amd.com)",
        "nvcc": (
            "for NVIDIA the CUDA toolkit (apt install cuda-nvcc, or "
            "developer.nvidia.com/cuda-downloads)"
        ),
    }
    return (
        f"no compiler found; looked for {where}; "
        f"{'; '.join(how[kind] for kind in wanted)}, then try again"
    )


# The sources that the probe was built from: git's revision of the tree they stand in, else the
# version of c3sim.


def revision(sources: Path = SOURCES) -> str:
    """``<hash>``, ``<hash>-dirty`` where the probe's folder was changed since, or
    ``c3sim-<version>``.
    """
    from c3sim import __version__

    top = sources.resolve().parents[2]  # validation/probe/src of a checkout
    root = _git(top, "rev-parse", "--show-toplevel")
    if root is None or Path(root) != top:
        return f"c3sim-{__version__}"
    commit = _git(top, "rev-parse", "HEAD")
    if not commit:
        return f"c3sim-{__version__}"
    changed = _git(top, "status", "--porcelain", "--", str(sources.resolve().parent))
    return commit + ("-dirty" if changed else "")


def _git(folder: Path, *arguments: str) -> str | None:
    """Output of git; None where it fails or is missing."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.decode(errors="replace").strip() if run.returncode == 0 else None
