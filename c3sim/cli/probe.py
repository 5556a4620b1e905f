"""``c3sim probe``: builds the native harness, runs plans of it, keeps what it measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json

if TYPE_CHECKING:
    from c3sim.validation.probing.plan import Step
    from c3sim.validation.probing.step import Setting

FAILED, INTERRUPTED = 1, 130

probe = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

CompilerKind = Annotated[
    str, typer.Option("--compiler", metavar="hipcc|nvcc", help="Left out: the one that is there.")
]
Arch = Annotated[
    str, typer.Option("--arch", metavar="ARCH", help="As in gfx942 or sm_90. Left out: these two.")
]
BuildDir = Annotated[
    Path | None,
    typer.Option("--build-dir", metavar="DIR", help="Left out: a folder of the user's cache."),
]
Binary = Annotated[
    str,
    typer.Option(
        "--probe", metavar="FILE", help="A built probe. Left out: it is built first, once."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    app.add_typer(
        probe, name="probe", short_help="Measure a machine: build and run the native harness."
    )


@probe.callback()
def about() -> None:
    """Measure a machine with the native harness: records for 'c3sim calibrate' and 'c3sim
    validate'.

    \b
    Examples:
      c3sim probe plans                                        what can be measured
      c3sim probe build                                        needs hipcc or nvcc
      c3sim probe run quick --node mi300x-8 --out runs/quick
    """


@probe.command("plans", short_help="Plans: what each measures, steps, GPUs, time.")
def plans(as_json: Json = False) -> None:
    """List the packaged plans and their steps."""
    from c3sim.validation.probing.plan import packaged
    from c3sim.validation.probing.table import plans_dict, print_plans

    found = packaged()
    if as_json:
        emit_json({"plans": plans_dict(found)})
    else:
        print_plans(found)


@probe.command("build", short_help="Build the harness with hipcc or nvcc.")
def build(
    compiler: CompilerKind = "", arch: Arch = "", build_dir: BuildDir = None, as_json: Json = False
) -> None:
    """Compile the harness and print where it is; nothing to do when it was built from the same
    sources before.

    \b
    Examples:
      c3sim probe build                                  on the machine to be measured
      c3sim probe build --compiler hipcc --arch gfx90a --build-dir here
    """
    built = _build(compiler, arch, build_dir)
    if as_json:
        made = built.program
        emit_json(
            {
                "probe": str(made.path),
                "compiler": made.compiler.path,
                "arch": made.compiler.arch,
                "version": made.version,
                "cached": built.cached,
                "seconds": round(built.seconds, 2),
            }
        )
    else:
        typer.echo(built.program.path)


@probe.command("machine", short_help="What the machine says of itself.")
def machine(
    compiler: CompilerKind = "",
    arch: Arch = "",
    build_dir: BuildDir = None,
    binary: Binary = "",
    as_json: Json = False,
) -> None:
    """Print the GPUs, driver, runtime and libraries as the harness sees them; exit code 1 where it
    cannot.
    """
    from c3sim.validation.probing.device import describe
    from c3sim.validation.probing.table import print_machine

    found = describe(_program(binary, compiler, arch, build_dir))
    if found.failure:
        say(f"probe machine: {found.failure}")
        raise typer.Exit(FAILED)
    if as_json:
        emit_json(found.data)
    else:
        print_machine(found.data)


@probe.command("run", short_help="Run a plan, or some of its steps.")
def run(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN|FILE.yaml", help="One of 'c3sim probe plans', or a file.")
    ],
    node: Annotated[
        str,
        typer.Option(
            "--node", metavar="NODE", help="The name that the records give the node; never guessed."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the records go.")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="STEP", help="Only this step; may be repeated."),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="STEP", help="Not this step; may be repeated."),
    ] = None,
    binary: Binary = "",
    compiler: CompilerKind = "",
    arch: Arch = "",
    build_dir: BuildDir = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.001, metavar="S", help="Seconds per step.")
    ] = 600.0,
    prefix: Annotated[
        str,
        typer.Option(
            "--prefix",
            help="In front of the suites' names, as in h200_: a node's 'fitted:' names them.",
        ),
    ] = "",
    source: Annotated[str, typer.Option("--source", help="Who and where, for the records.")] = "",
    revision: Annotated[
        str, typer.Option("--revision", help="Left out: git's, or the version of c3sim.")
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace records of an earlier run.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands; run and write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run the steps of a plan, one process each; what a step measured stays, whatever happens to it
    or to others.

    Each step leaves STEP.jsonl (records), STEP.log, and STEP.rejected for lines that are no
    records. For a repeat, run the plan again into another folder: records of the same conditions
    have the same id.

    \b
    Exit code:
      0  every step that fits on the machine went well      2  bad input, or no compiler
      1  a step failed                                      130  interrupted
    """
    from c3sim.validation.probing.plan import chosen, load_plan
    from c3sim.validation.probing.revision import revision as of_sources
    from c3sim.validation.probing.step import Setting, command_of

    loaded = load_plan(plan)
    steps = [
        step.model_copy(update={"suite": prefix + step.suite_name})
        for step in chosen(loaded, only or (), skip or ())
    ]
    program = binary or "probe"
    if not dry_run:
        from c3sim.validation.probing.campaign import prepare

        prepare(steps, out, replace)
        program = _program(binary, compiler, arch, build_dir)
    setting = Setting(
        probe=program,
        node=node,
        out=out,
        timeout=timeout,
        revision=revision or of_sources(),
        source=source or f"c3sim probe, plan {loaded.name}",
    )
    if dry_run:
        _dry(steps, [command_of(step, setting) for step in steps], as_json)
    else:
        _run(loaded.name, steps, setting, as_json)


def _dry(steps: list[Step], commands: list[list[str]], as_json: bool) -> None:
    import shlex

    if as_json:
        emit_json(
            {
                "steps": [
                    {"step": s.name, "gpus": s.gpus, "command": c}
                    for s, c in zip(steps, commands, strict=True)
                ]
            }
        )
    else:
        for command in commands:
            typer.echo(shlex.join(command))


def _run(name: str, steps: list[Step], setting: Setting, as_json: bool) -> None:
    from c3sim.cli.probe_progress import watching
    from c3sim.validation.probing.campaign import run_steps, to_dict
    from c3sim.validation.probing.device import describe

    found = describe(setting.probe)
    if found.failure:
        say(
            f"how many GPUs there are is not known, steps are tried anyway: probe machine: {found.failure}"
        )
    with watching(len(steps)) as watcher:
        outcomes = run_steps(steps, setting, found.gpus, watcher)
    if as_json:
        emit_json(
            {
                "plan": name,
                "node": setting.node,
                "out": str(setting.out),
                "revision": setting.revision,
                "machine": found.data or None,
                "steps": [to_dict(each) for each in outcomes],
            }
        )
    else:
        from c3sim.validation.probing.table import print_outcomes

        print_outcomes(outcomes)
    if any(each.interrupted for each in outcomes):
        raise typer.Exit(INTERRUPTED)
    if any(each.result == "failed" for each in outcomes):
        raise typer.Exit(FAILED)


def _program(binary: str, compiler: str, arch: str, build_dir: Path | None) -> str:
    """The path of the probe that was given, or of the one built. Raises InputError."""
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
    """What was built. A failing build ends the command with all that the compiler said."""
    from c3sim.cli.progress import progress
    from c3sim.validation.probing.build import BuildError, build, program
    from c3sim.validation.probing.compiler import find_compiler

    wanted = program(find_compiler(compiler, arch), build_dir)
    with progress() as tell:
        try:
            done = build(wanted, tell)
        except BuildError as error:
            failure = str(error)
        else:
            failure = ""
    if failure:
        say(failure)
        raise typer.Exit(FAILED)
    if not done.cached:
        made = done.program
        say(f"built with {made.compiler.path} for {made.compiler.arch} in {done.seconds:.1f} s")
    return done
