"""``c3sim probe``: builds the native harness, and says what it can measure here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from c3sim.cli.emit import emit_json, say
from c3sim.cli.guard import FAILED, LOOK
from c3sim.cli.options import Json

probe = typer.Typer(**LOOK, add_completion=False)

CompilerKind = Annotated[str, Option(metavar="hipcc|nvcc", help="Left out: the one that is there.")]
Arch = Annotated[str, Option(metavar="ARCH", help="As in gfx942 or sm_90. Left out: these two.")]
BuildDir = Annotated[
    Path | None, Option(metavar="DIR", help="Left out: a folder of the user's cache.")
]
Binary = Annotated[
    str, Option("--probe", metavar="FILE", help="A built probe. Left out: it is built first, once.")
]


@probe.callback()
def about() -> None:
    """Measure a machine with the native harness: records for 'c3sim calibrate' and 'c3sim
    validate'.

    \b
    Examples:
      c3sim probe plans                               what can be measured
      c3sim probe build                               needs hipcc or nvcc
      c3sim probe run quick --node mi300x-8 --out runs/quick
    """


@probe.command("plans", short_help="Plans: what each measures, steps, GPUs, time.")
def plans(as_json: Json = False) -> None:
    """List the packaged plans and their steps."""
    from c3sim.validation.probing.campaign import plans_dict, print_plans
    from c3sim.validation.probing.plan import packaged

    every = packaged()
    if as_json:
        emit_json({"plans": plans_dict(every)})
    else:
        print_plans(every)


@probe.command("build", short_help="Build the harness with hipcc or nvcc.")
def build(
    compiler: CompilerKind = "", arch: Arch = "", build_dir: BuildDir = None, as_json: Json = False
) -> None:
    """Compile the harness and print where it is; the same sources are compiled once.

    \b
    Examples:
      c3sim probe build                        on the machine to be measured
      c3sim probe build --compiler hipcc --arch gfx90a --build-dir here
    """
    built = _build(compiler, arch, build_dir)
    program = built.program
    if as_json:
        emit_json(
            {
                "probe": str(program.path),
                "compiler": program.compiler.path,
                "arch": program.compiler.arch,
                "version": program.version,
                "cached": built.cached,
                "seconds": round(built.seconds, 2),
            }
        )
    else:
        typer.echo(program.path)


@probe.command("machine", short_help="What the machine says of itself.")
def machine(
    compiler: CompilerKind = "",
    arch: Arch = "",
    build_dir: BuildDir = None,
    binary: Binary = "",
    as_json: Json = False,
) -> None:
    """Print the GPUs, driver, runtime and libraries that the harness sees; exit code 1 if none."""
    from c3sim.validation.probing.campaign import print_machine
    from c3sim.validation.probing.step import asked_machine

    description = asked_machine(probe_path(binary, compiler, arch, build_dir))
    if description.failure:
        say(f"probe machine: {description.failure}")
        raise typer.Exit(FAILED)
    if as_json:
        emit_json(description.data)
    else:
        print_machine(description.data)


def probe_path(binary: str, compiler: str, arch: str, build_dir: Path | None) -> str:
    """The path of the probe that is given, or of one built now. Raises InputError."""
    import os

    from c3sim.errors import InputError

    if not binary:
        return str(_build(compiler, arch, build_dir).program.path)
    path = Path(binary).absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        what = "is not executable" if path.is_file() else "does not exist"
        raise InputError(
            f"{what}; must be a probe built with 'c3sim probe build'", "--probe", binary
        )
    return str(path)


def _build(compiler: str, arch: str, build_dir: Path | None) -> Any:
    """The build; a failing one ends the command with the compiler's messages."""
    from c3sim.cli.progress import progress
    from c3sim.validation.probing.build import BuildError, build, find_compiler, program

    wanted = program(find_compiler(compiler, arch), build_dir)
    failure = ""
    with progress() as watcher:
        try:
            built = build(wanted, watcher)
        except BuildError as error:
            failure = str(error)  # printed below, when the bar is gone
    if failure:
        say(failure)
        raise typer.Exit(FAILED)
    if not built.cached:
        used = built.program.compiler
        say(f"built with {used.path} for {used.arch} in {built.seconds:.1f} s")
    return built
