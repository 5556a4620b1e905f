"""``c3sim optimise``: the best designs of a study's knobs, and the front between its objectives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json, NodeName, Plot
from c3sim.cli.sweep import StudyName

if TYPE_CHECKING:
    from c3sim.sweeps.search import SearchResult

Trials = Annotated[
    int | None,
    typer.Option("--trials", min=1, metavar="N", help="Designs to try. Left out: the study's."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="The same seed, the same designs. Left out: the study's."),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="DIR", help="Write results.parquet and front.png to this folder."
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
    app.command("optimise", short_help="The best designs, and the front between objectives.")(
        optimise
    )


def optimise(
    study: StudyName,
    node: NodeName = None,
    trials: Trials = None,
    seed: Seed = None,
    out: Out = None,
    plot: Plot = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Search the knobs of STUDY for its objectives: its section 'search' names both ('c3sim schema
    study').

    Several objectives give a front: the designs that no other beats in all of them. Needs Optuna:
    pip install 'c3sim[explore]'.

    \b
    Examples:
      c3sim optimise my-study.yaml
      c3sim optimise my-study.yaml --trials 1000 --out best
      c3sim optimise my-study.yaml --seed 7 --plot front.png
    """
    from c3sim.cli.kinds import check_study
    from c3sim.cli.sweep import _node
    from c3sim.cli.sweep_progress import sweep_progress
    from c3sim.errors import InputError
    from c3sim.output.kit.look import check_picture
    from c3sim.sweeps.executor import Workers
    from c3sim.sweeps.search import check_optuna
    from c3sim.sweeps.search import optimise as search

    check_optuna()
    check_study(study)
    if plot:
        check_picture(plot)
    if out and Path(out).exists() and not Path(out).is_dir():
        raise InputError(
            "is not a folder; allowed: a folder, or a path where one can be made", "--out", out
        )
    with sweep_progress("designs") as tell:
        found = search(
            study,
            node=_node(node),
            trials=trials,
            seed=seed,
            workers=Workers(jobs=jobs),
            watcher=tell,
        )
    _write(found, out, plot)
    from c3sim.output.tables.search import search_table, to_dict

    if as_json:
        emit_json(to_dict(found))
        return
    from c3sim.output.kit.layout import show

    show(search_table(found))


def _write(found: SearchResult, out: str | None, plot: str | None) -> None:
    from tempfile import TemporaryDirectory

    from c3sim.output.pictures.draw import draw_results
    from c3sim.output.results.table import read_results
    from c3sim.sweeps.result_files import write_designs

    kind = "pareto" if len(found.objectives) > 1 else "lines"
    with TemporaryDirectory() as folder:
        file = Path(folder) / "results.parquet"
        if out:
            Path(out).mkdir(parents=True, exist_ok=True)
            file = Path(out) / "results.parquet"
        if out or plot:
            write_designs(found, file)
        pictures = ([plot] if plot else []) + (
            [str(Path(out) / "front.png")] if out and kind == "pareto" else []
        )
        for picture in pictures:
            draw_results(read_results(file), picture, kind=kind)
    for name in ([str(file)] if out else []) + pictures:
        say(f"wrote {name}")
