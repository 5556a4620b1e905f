"""``c3sim sensitivity``: which parameter moves the result most, and how uncertain it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from c3sim.cli import complete
from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import MOST_TRIALS, Jobs, Json, NodeName, Settings, settings

if TYPE_CHECKING:
    from c3sim.experiments.screening import Screening
    from c3sim.experiments.sensitivity import Sensitivity, Target


def sensitivity(
    target: Annotated[
        str,
        Argument(
            metavar="STUDY|WORKLOAD",
            help="Name or file of a study (the mean over its scenarios), or of a workload.",
            autocompletion=complete.shown,
        ),
    ],
    node: NodeName = None,
    strategy: Annotated[
        str | None,
        Option(
            metavar="STRATEGY",
            help="Left out: the study's first one; the workload as written.",
            autocompletion=complete.strategy,
        ),
    ] = None,
    output: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="What is to be explained, as wall_s or tasks.gemm.slowdown. Left out:"
            " fraction_of_ideal; of an iteration wall_s.",
        ),
    ] = None,
    screen: Annotated[
        int | None,
        Option(
            metavar="RUNS",
            min=0,
            max=MOST_TRIALS,
            help="Find what moves it most in about so many runs, without indices and band; 0: no."
            " Left out: 96 for an iteration, fewer where they take over a minute; else 0.",
        ),
    ] = None,
    samples: Annotated[
        int,
        Option(
            min=2, max=2**20, help="A power of 2, of Sobol's scheme; runs: samples x (top + 2)."
        ),
    ] = 64,
    top: Annotated[
        int, Option(min=0, help="Parameters that get Sobol indices: those that move it most.")
    ] = 8,
    band_samples: Annotated[
        int,
        Option(
            min=2, max=MOST_TRIALS, help="Of the band, as --samples of 'c3sim run --uncertainty'."
        ),
    ] = 256,
    seed: Annotated[int, Option(min=0, help="The same seed, the same numbers.")] = 1,
    set_: Settings = None,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help="Write sensitivity.parquet, samples.parquet and tornado.png to this folder.",
        ),
    ] = None,
    jobs: Jobs = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Vary every parameter of the node within its interval: one at a time, by Sobol indices, and
    all together.

    Parameters are the numbers of the node file that have an interval ('c3sim show NODE'); of a
    fitted one, the 95 % interval of its fit is used. Iterations are screened: parameters of a part
    of the machine together, then halves of those that move the answer most; --screen 0 does all.
    Needs SALib, but for screening: pip install 'c3sim[explore]'.

    \b
    Examples:
      c3sim sensitivity gemm-beside-all-gather --strategy conccl
      c3sim sensitivity my-study.yaml --output wall_s --samples 256
      c3sim sensitivity gemm-beside-all-gather --strategy sp --out results
      c3sim sensitivity llama3-8b-training    which parameter to measure first?
    """
    from c3sim.cli.progress import sweep_progress
    from c3sim.experiments.influence import question
    from c3sim.experiments.jobs import Workers
    from c3sim.experiments.screening import Screening
    from c3sim.kit.files import check_folder

    asked = question(
        target,
        node=node,
        strategy=strategy,
        output=output,
        screened=screen,
        changes=settings(set_),
        workers=Workers(jobs=jobs, agree=agreeing(yes)),
    )
    if out:
        check_folder(out)
    with sweep_progress("runs") as watcher:
        result = asked.answer(
            samples=samples, top=top, band_samples=band_samples, seed=seed, watcher=watcher
        )
    if isinstance(result, Screening):
        _say_screening(result, asked.target, target, out, as_json)
    else:
        _say(result, asked.target, target, out, as_json)


def _say(result: Sensitivity, on: Target, name: str, out: str | None, as_json: bool) -> None:
    from c3sim.kit.layout import show
    from c3sim.output.tables.sensitivity import sensitivity_table, to_dict

    if out:
        _write(result, on, out)
    node = on.node.node.name
    if as_json:
        emit_json({"target": name, "node": node, **to_dict(result)})
    else:
        show(sensitivity_table(result))


def _say_screening(result: Screening, on: Target, name: str, out: str | None, json: bool) -> None:
    """With the records that would see each parameter."""
    from c3sim.kit.files import make_folder
    from c3sim.kit.layout import show
    from c3sim.output.tables.screening import screening_table, to_dict
    from c3sim.validation.compare.coverage_file import seen_by

    result = replace(result, measured=seen_by(on.node))
    if out:
        path = make_folder(out) / "screening.parquet"
        result.to_frame().to_parquet(path)
        say(f"wrote {path}")
    node = on.node.node.name
    if json:
        emit_json({"target": name, "node": node, **to_dict(result)})
    else:
        show(screening_table(result))


def _write(result: Sensitivity, target: Target, out: str) -> None:
    from c3sim.experiments.result_files import write_samples, write_tornado
    from c3sim.kit.files import make_folder
    from c3sim.output.pictures.draw import draw_results
    from c3sim.output.results.table import read_results

    node = target.node.node.name
    names = ("sensitivity.parquet", "samples.parquet", "tornado.png")
    tornado, samples, picture = (make_folder(out) / name for name in names)
    write_tornado(result, target.name, node, tornado)
    write_samples(result.band, result.strategy, target.name, node, samples)
    draw_results(read_results(tornado), picture, value=result.output)
    for path in (tornado, samples, picture):
        say(f"wrote {path}")
