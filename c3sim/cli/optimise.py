"""``c3sim optimise``: the best designs of a study's knobs, and the front between its objectives."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from typer import Option

from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import MOST_TRIALS, Jobs, Json, NodeName, Plot, StudyName

if TYPE_CHECKING:
    from c3sim.experiments.search import SearchResult


def optimise(
    study: StudyName,
    node: NodeName = None,
    trials: Annotated[
        int | None, Option(min=1, max=MOST_TRIALS, metavar="N", help="Left out: the study's.")
    ] = None,
    seed: Annotated[
        int | None, Option(min=0, help="The same seed, the same designs. Left out: the study's.")
    ] = None,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR", help="Write results.parquet, search.png and front.png to this folder."
        ),
    ] = None,
    plot: Plot = None,
    jobs: Jobs = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Search the knobs of STUDY for its objectives: its section 'search' names both ('c3sim schema
    study').

    Several objectives give a front: the designs that no other beats in all of them. The last lines
    say what the best design gains over what is there, and how sure that is. Needs Optuna: pip
    install 'c3sim[explore]'.

    \b
    Examples:
      c3sim optimise my-study.yaml
      c3sim optimise my-study.yaml --trials 1000 --out best
      c3sim optimise my-study.yaml --seed 7 --plot front.png
    """
    from c3sim.cli.progress import sweep_progress
    from c3sim.experiments.jobs import Workers
    from c3sim.experiments.search import check_optuna
    from c3sim.experiments.search import optimise as search
    from c3sim.kit.files import check_folder
    from c3sim.kit.layout import show
    from c3sim.kit.look import check_picture
    from c3sim.output.tables.search import search_table, to_dict
    from c3sim.spec.reading.kinds import check_study
    from c3sim.spec.reading.loading import load_hardware

    check_optuna()
    check_study(study)
    if plot:
        check_picture(plot)
    if out:
        check_folder(out)
    with sweep_progress("designs") as watcher:
        on, workers = load_hardware(node) if node else None, Workers(jobs=jobs, agree=agreeing(yes))
        result = search(study, node=on, trials=trials, seed=seed, workers=workers, watcher=watcher)
    if out or plot:
        _write(result, out, plot)
    if as_json:
        emit_json(to_dict(result))
    else:
        show(search_table(result))


def _write(result: SearchResult, out: str | None, plot: str | None) -> None:
    from c3sim.experiments.result_files import write_designs
    from c3sim.kit.files import make_folder
    from c3sim.output.pictures.draw import draw_results
    from c3sim.output.pictures.search import draw_search
    from c3sim.output.results.table import read_results

    several = len(result.objectives) > 1
    with TemporaryDirectory() as temporary:
        folder = make_folder(out or temporary)
        file = folder / "results.parquet"
        write_designs(result, file)
        pictures = [plot] if plot and several else []
        pictures += [str(folder / "front.png")] if out and several else []
        for picture in pictures:
            draw_results(read_results(file), picture, kind="pareto")
        searches = [plot] if plot and not several else []
        searches += [str(folder / "search.png")] if out else []
        for picture in searches:
            draw_search(result, picture)
        pictures += searches
    for name in ([str(file)] if out else []) + pictures:
        say(f"wrote {name}")
