"""``c3sim sensitivity``: which parameter moves the result most, and how uncertain it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c3sim.cli import complete
from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json, NodeName, Settings, settings

if TYPE_CHECKING:
    from c3sim.input.loading import LoadedNode, LoadedStudy
    from c3sim.sweeps.sensitivity import Sensitivity

Target = Annotated[
    str,
    typer.Argument(
        metavar="STUDY|WORKLOAD",
        help="Name or file of a study (the mean over its scenarios), or of a workload.",
        autocompletion=complete.shown,
    ),
]
Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="STRATEGY",
        help="Left out: the study's first one; the workload as written.",
        autocompletion=complete.strategy,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        metavar="NAME",
        help="What is to be explained, as wall_s or tasks.gemm.slowdown.",
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        "--samples", min=2, help="Of Sobol's scheme, a power of 2; runs: samples x (top + 2)."
    ),
]
Top = Annotated[
    int,
    typer.Option(
        "--top", min=0, help="Parameters that get Sobol indices: those that move it most."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed, the same numbers.")]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write sensitivity.parquet, samples.parquet and tornado.png to this folder.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, metavar="N", help="Processes. Left out: all cores, where it pays."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    app.command("sensitivity", short_help="Which parameter moves the result most.")(sensitivity)


def sensitivity(
    target: Target,
    node: NodeName = None,
    strategy: Strategy = None,
    output: Output = "fraction_of_ideal",
    samples: Samples = 64,
    top: Top = 8,
    seed: Seed = 1,
    set_: Settings = None,
    out: Out = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Vary every parameter of the node within its interval: one at a time, by Sobol indices, and
    all together.

    Parameters are the numbers of the node file that have an interval ('c3sim show NODE'); of a
    fitted one, the 95 % interval of its fit is used. Needs SALib: pip install 'c3sim[explore]'.

    \b
    Examples:
      c3sim sensitivity gemm-beside-all-gather --strategy conccl
      c3sim sensitivity my-study.yaml --output wall_s --samples 256
      c3sim sensitivity gemm-beside-all-gather --strategy sp --out results
    """
    from c3sim.cli.sweep_progress import sweep_progress
    from c3sim.sweeps.executor import Workers
    from c3sim.sweeps.intervals import parameters_of
    from c3sim.sweeps.samples import Sampler
    from c3sim.sweeps.sensitivity import check_salib
    from c3sim.sweeps.sensitivity import sensitivity as explore

    check_salib()
    changes = settings(set_)
    loaded, on = _opened(target, node, strategy, changes)
    setup = _setup(loaded, on, output)
    chosen = strategy or loaded.study.strategies[0]
    _check_out(out)
    sampler = Sampler(setup=setup, strategy=chosen, workers=Workers(jobs=jobs))
    parameters = parameters_of(on, _canonical(changes))
    with sweep_progress("runs") as tell:
        found = explore(
            sampler, parameters, output, samples=samples, top=top, seed=seed, watcher=tell
        )
    if out:
        _write(found, loaded, on, Path(out))
    _show(found, target, on, as_json)


def _canonical(changes: dict[str, str]) -> set[str]:
    from c3sim.input.aliases import canonical

    return {canonical(path) for path in changes}


def _opened(
    target: str, node: str | None, strategy: str | None, changes: dict[str, str]
) -> tuple[LoadedStudy, LoadedNode]:
    """The target as a study, and its node with where its values come from."""
    from c3sim.cli.kinds import kind_of
    from c3sim.errors import InputError
    from c3sim.input.loading import LoadedStudy, load_hardware, load_workload, open_study
    from c3sim.input.paths import set_value
    from c3sim.specs.study import Scenario, Study
    from c3sim.strategies.table import STRATEGIES

    kind = kind_of(target)
    if kind == "study":
        loaded = open_study(target)
    elif kind == "workload":
        plain = load_workload(target)
        study = Study(
            schema_version=1,
            name=plain.name,
            node=plain.node,
            strategies=(strategy or "as_written",),
            scenarios=(Scenario(name=plain.name, workload=target),),
        )
        loaded = LoadedStudy(study=study)
    else:
        raise InputError(f"{target!r} is a {kind}; give a study or a workload")
    if strategy is not None and strategy.partition(":")[0] not in STRATEGIES:
        from c3sim.input.hints import unknown

        raise InputError(unknown("strategy", strategy, STRATEGIES), "--strategy")
    study = loaded.study
    on = load_hardware(node or study.node)
    if changes:
        scenarios = study.scenarios or (Scenario(name=study.name),)
        first = load_workload(scenarios[0].workload or study.workload or target)
        for path, value in changes.items():
            set_value(on.node, first, path, value)  # a mistake is told as that of --set
        changed = tuple(
            each.model_copy(update={"set": {**each.set, **changes}}) for each in scenarios
        )
        study = study.model_copy(update={"scenarios": changed})
    return LoadedStudy(study=study, file=loaded.file, places=loaded.places), load_hardware(
        node or study.node
    )


def _setup(loaded: LoadedStudy, on: LoadedNode, output: str) -> Any:
    """What all runs share: the study's outputs, and the one asked for."""
    from dataclasses import replace

    from c3sim.errors import InputError
    from c3sim.input.loading import LoadedStudy
    from c3sim.sweeps.outputs import output_names
    from c3sim.sweeps.setup import make_setup

    study = loaded.study
    outputs = ("wall_s", "speedup", "fraction_of_ideal")
    plain = study.model_copy(update={"outputs": outputs, "kind": "sweep"})
    setup = make_setup(LoadedStudy(study=plain, file=loaded.file, places=loaded.places), on.node)
    workloads = list(setup.workloads.values())
    try:
        names = output_names((*outputs, "tasks.*.slowdown", output), study.costs, workloads)
    except InputError as error:
        raise InputError(error.message, "--output") from None
    if "*" in output:
        raise InputError(f"{output!r} is several; name one task", "--output")
    return replace(setup, outputs=names)


def _check_out(out: str | None) -> None:
    from c3sim.errors import InputError

    if out and Path(out).exists() and not Path(out).is_dir():
        raise InputError(
            "is not a folder; allowed: a folder, or a path where one can be made", "--out", out
        )


def _write(found: Sensitivity, loaded: LoadedStudy, on: LoadedNode, folder: Path) -> None:
    from c3sim.output.pictures.draw import draw_results
    from c3sim.output.pictures.table import read_results
    from c3sim.sweeps.tornado import write_samples, write_tornado

    folder.mkdir(parents=True, exist_ok=True)
    write_tornado(found, loaded.study.name, on.node.name, folder / "sensitivity.parquet")
    write_samples(
        found.band, found.strategy, loaded.study.name, on.node.name, folder / "samples.parquet"
    )
    draw_results(
        read_results(folder / "sensitivity.parquet"), folder / "tornado.png", value=found.output
    )
    for name in ("sensitivity.parquet", "samples.parquet", "tornado.png"):
        say(f"wrote {folder / name}")


def _show(found: Sensitivity, target: str, on: LoadedNode, as_json: bool) -> None:
    from c3sim.output.sensitivity_tables import sensitivity_table, to_dict

    if as_json:
        emit_json({"target": target, "node": on.node.name, **to_dict(found)})
        return
    from c3sim.output.layout import show

    show(sensitivity_table(found, f"{target} on {on.node.name}"))
