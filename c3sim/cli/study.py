"""``c3sim study``: a study, its tables beside published figures where there are any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c3sim.cli import complete
from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json, NodeName, Plot, settings

if TYPE_CHECKING:
    from c3sim.specs.study import Study

DRAWN = {"c3", "c3_variants", "dma_variants", "kv_fetch"}  # kinds that have a picture


def study(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="Name of a study, or path of its YAML file.",
            autocompletion=complete.studies,
        ),
    ],
    node: NodeName = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set one value in every scenario, as in serving.hit_rate=0.9; [a, b] crosses several. May be repeated.",
        ),
    ] = None,
    plot: Plot = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Write table (.txt), data (.json) and picture (.png) to this folder.",
        ),
    ] = None,
    band: Annotated[
        bool,
        typer.Option(
            "--band/--no-band",
            help="How much the means owe to the choice of scenarios; takes longer.",
        ),
    ] = True,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, metavar="N", help="Processes. Left out: all cores, where it pays."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a study: all its scenarios under all its strategies.

    \b
    Examples:
      c3sim study conccl
      c3sim study conccl --out results
      c3sim study conccl --no-band --plot conccl.png --json > conccl.json
      c3sim study dma-latte --plot variants.png
      c3sim study kv-fetch --set serving.hit_rate=[0.5,0.75,1] --set serving.layout=per_layer --plot kv.png
      c3sim study c3-latte --out results
      c3sim study my-sweep.yaml --jobs 2
    """
    from c3sim.input.loading import load_study

    values = settings(set_)
    loaded = load_study(name)
    _check_outputs(loaded, plot, out)
    from c3sim.api import study as run_study
    from c3sim.cli.progress import progress

    with progress() as tell:
        result = run_study(name, node=node, set=values, band=band, n_jobs=jobs, progress=tell)
    if plot:
        _draw(result, plot)
    if out:
        _write_all(result, Path(out))
    if as_json:
        emit_json(result)
        return
    from c3sim.cli.study_report import report
    from c3sim.output.layout import show

    for part in report(result):
        show(part)


def _check_outputs(loaded: Study, plot: str | None, out: str | None) -> None:
    """Whether everything can be written and drawn, before the work. Raises InputError."""
    from c3sim.errors import InputError
    from c3sim.output.files import check_writable
    from c3sim.output.look import check_picture

    if plot:
        check_picture(plot)
        if not {loaded.kind} & DRAWN:
            drawn = " or ".join(repr(name) for name in sorted(DRAWN))
            message = f"study {loaded.name!r} has nothing to draw; pictures need kind {drawn}"
            raise InputError(message, "--plot")
    if out:
        folder = Path(out)
        if folder.exists() and not folder.is_dir():
            raise InputError(
                "is not a folder; allowed: a folder, or a path where one can be made", "--out", out
            )
        existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        check_writable(existing / f"{loaded.name}.json")


def _write_all(result: dict[str, Any], folder: Path) -> None:
    import json

    from c3sim.cli.study_report import report_text
    from c3sim.errors import InputError
    from c3sim.output.files import write_text

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be made: {(error.strerror or str(error)).lower()}", "--out", str(folder)
        ) from None
    base = folder / result["name"]
    write_text(f"{base}.txt", report_text(result))
    write_text(f"{base}.json", json.dumps(result, indent=2, allow_nan=False) + "\n")
    say(f"wrote {base}.txt\nwrote {base}.json")
    if {"strategies", "phases", "claims", "choosers"} & set(result):
        _draw(result, f"{base}.png")


def _draw(result: dict[str, Any], path: str) -> None:
    from c3sim.studies.c3.picture import plot_study
    from c3sim.studies.c3_variants.picture import plot_c3_variants
    from c3sim.studies.dma_variants.picture import plot_variants
    from c3sim.studies.kv_fetch.picture import plot_kv

    by_key = {"phases": plot_variants, "choosers": plot_c3_variants, "claims": plot_kv}
    draw = next((function for key, function in by_key.items() if key in result), plot_study)
    draw(result, path)
    say(f"wrote {path}")
