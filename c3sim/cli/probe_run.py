"""``c3sim probe run``: runs a plan of the native harness and keeps what it measures."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from c3sim.cli.emit import emit_json, say
from c3sim.cli.guard import FAILED, INTERRUPTED
from c3sim.cli.options import Json
from c3sim.cli.probe import Arch, Binary, BuildDir, CompilerKind, probe, probe_path

if TYPE_CHECKING:
    from c3sim.validation.probing.plan import Plan, Step
    from c3sim.validation.probing.step import Outcome, Setting


@probe.command("run", short_help="Run a plan, or some of its steps.")
def run(
    plan: Annotated[
        str, Argument(metavar="PLAN|FILE.yaml", help="One of 'c3sim probe plans', or a file.")
    ],
    node: Annotated[
        str, Option(metavar="NODE", help="The name that the records give the node; never guessed.")
    ],
    out: Annotated[Path, Option("--out", "-o", metavar="FOLDER", help="Where the records go.")],
    only: Annotated[
        list[str] | None, Option(metavar="STEP", help="Only this step; may be repeated.")
    ] = None,
    skip: Annotated[
        list[str] | None, Option(metavar="STEP", help="Not this step; may be repeated.")
    ] = None,
    binary: Binary = "",
    compiler: CompilerKind = "",
    arch: Arch = "",
    build_dir: BuildDir = None,
    timeout: Annotated[float, Option(min=0.001, metavar="S", help="Seconds per step.")] = 600.0,
    prefix: Annotated[
        str,
        Option(help="In front of the suites' names, as in h200_: a node's 'fitted:' names them."),
    ] = "",
    source: Annotated[str, Option(help="Who and where, for the records.")] = "",
    revision: Annotated[str, Option(help="Left out: git's, or the version of c3sim.")] = "",
    replace: Annotated[
        bool, Option("--replace", help="Replace records of an earlier run.")
    ] = False,
    recorded: Annotated[
        Path | None,
        Option(metavar="FOLDER|FILE.zip", help="Take an earlier run's records; measure nothing."),
    ] = None,
    set_clocks: Annotated[
        bool,
        Option("--set-clocks", help="Let steps set the GPUs' core clock, and give it back (root)."),
    ] = False,
    dry_run: Annotated[
        bool,
        Option(
            "--dry-run", help="Print the commands, and what each result would mean; run nothing."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run the steps of a plan, one process each; records of a step stay if another one fails.

    Each step leaves STEP.jsonl (records), STEP.log, and STEP.rejected for lines that are no
    records. For a repeat, run the plan again into another folder: records of the same conditions
    have the same id.

    \b
    Exit code:
      0  every step that fits on the machine went well
      1  a step failed
      2  bad input, or no compiler
      130  interrupted
    """
    from c3sim.validation.probing.build import revision as of_sources
    from c3sim.validation.probing.plan import chosen, load_plan
    from c3sim.validation.probing.step import Setting

    loaded = load_plan(plan)
    steps = [
        step.changed(suite=prefix + step.suite_name)
        for step in chosen(loaded, only or (), skip or ())
    ]
    program = binary or "probe"
    if not dry_run:
        from c3sim.validation.probing.campaign import prepare

        prepare(steps, out, replace)
        if recorded is None:
            program = probe_path(binary, compiler, arch, build_dir)
    setting = Setting(
        probe=program,
        node=node,
        out=out,
        timeout=timeout,
        revision=revision or of_sources(),
        source=source or f"c3sim probe, plan {loaded.name}",
        recorded=recorded,
        set_clocks=set_clocks,
    )
    if dry_run:
        _dry(loaded, steps, setting, as_json)
    else:
        _run(loaded, steps, setting, as_json)


def _dry(plan: Plan, steps: list[Step], setting: Setting, as_json: bool) -> None:
    """Print the commands of the *steps*, and as comments what each would tell."""
    from c3sim.validation.probing.meaning import in_lines
    from c3sim.validation.probing.step import command_of

    commands = [command_of(step, setting) for step in steps]
    if as_json:
        pairs = zip(steps, commands, strict=True)
        emit_json(
            {
                "steps": [
                    {"step": s.name, "gpus": s.gpus, "what": s.what, "means": s.means, "command": c}
                    for s, c in pairs
                ]
            }
        )
        return
    for step, command in zip(steps, commands, strict=True):
        for text in (f"{step.name}: {step.what}", f"would mean: {step.means}") * bool(step.means):
            typer.echo(in_lines(text, "# "))
        typer.echo(shlex.join(command))
    if plan.send:
        from c3sim.validation.probing.recorded import bundle_path

        typer.echo(f"# one file to send would be left: {bundle_path(plan.name, setting.out)}")


def _run(plan: Plan, steps: list[Step], setting: Setting, as_json: bool) -> None:
    from c3sim.cli.progress import step_progress
    from c3sim.validation.probing.campaign import run_steps, to_dict
    from c3sim.validation.probing.step import describe

    description = describe(setting)
    if description.failure:
        reason = f"probe machine: {description.failure}"
        say(f"the number of GPUs is not known, all steps are tried: {reason}")
    with step_progress(len(steps)) as watcher:
        outcomes = run_steps(steps, setting, description.gpus, watcher)
    said: dict[str, Any] = {
        "plan": plan.name,
        "node": setting.node,
        "out": str(setting.out),
        "revision": setting.revision,
        "machine": description.data or None,
        "steps": [to_dict(each) for each in outcomes],
    }
    if not as_json:
        from c3sim.validation.probing.campaign import print_outcomes

        print_outcomes(outcomes)
    if plan.send:
        said |= _to_send(plan, outcomes, setting, description.data, as_json)
    if as_json:
        emit_json(said)
    if any(each.interrupted for each in outcomes):
        raise typer.Exit(INTERRUPTED)
    if any(each.result == "failed" for each in outcomes):
        raise typer.Exit(FAILED)


def _to_send(
    plan: Plan, outcomes: list[Outcome], setting: Setting, machine: dict[str, Any], as_json: bool
) -> dict[str, Any]:
    """Leave one file to send, and say what the steps mean."""
    from c3sim.validation.probing.meaning import found_beside_the_model, means_dict, print_meaning
    from c3sim.validation.probing.recorded import bundle

    files = [file for each in outcomes for file in each.files]
    sent = bundle(plan.name, files, machine, setting.out)
    found = found_beside_the_model(outcomes, setting.node)
    if not as_json:
        print_meaning(outcomes, found, sent)
    return {"send": str(sent), "meaning": means_dict(outcomes, found)}
