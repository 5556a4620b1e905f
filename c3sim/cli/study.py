"""``c3sim study``: a study, its tables beside published figures where there are any."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import MOST_TRIALS, Jobs, Json, NodeName, Plot, StudyName, settings
from c3sim.errors import short

if TYPE_CHECKING:
    from c3sim.experiments.claims import Claim
    from c3sim.experiments.study import Kind, Options, StudyResult
    from c3sim.kit.grid import Table
    from c3sim.spec.reading.loading import LoadedStudy
    from c3sim.spec.study import Study


def study(
    name: StudyName,
    node: NodeName = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set one value in every scenario, as in serving.hit_rate=0.9; [a, b] crosses"
            " several. May be repeated.",
        ),
    ] = None,
    plot: Plot = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write table (.txt), data (.json) and picture (.png) to this folder.",
        ),
    ] = None,
    band: Annotated[
        bool,
        typer.Option(
            "--band/--no-band",
            help="How sure the means of a c3 study are; most of the time goes into it.",
        ),
    ] = True,
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            min=1,
            max=MOST_TRIALS,
            metavar="N",
            help="Draws of parameters and assumptions for the band. Left out: as in the study. With"
            " --verdict also of studies that have none: the whole study once for each draw.",
        ),
    ] = None,
    jobs: Jobs = None,
    yes: Yes = False,
    verdict: Annotated[
        bool,
        typer.Option(
            "--verdict", help="Published figures only: each beside that here, and whether it holds."
        ),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Every table, not the answer alone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study: all its scenarios under all its strategies. Prints the answer, on one screen.

    \b
    Examples:
      c3sim study conccl
      c3sim study conccl --full
      c3sim study conccl --out results
      c3sim study conccl --draws 200
      c3sim study conccl --no-band --plot conccl.png --json > conccl.json
      c3sim study conccl --no-band --verdict
      c3sim study dma-latte --verdict --draws 8
      c3sim study dma-latte --plot variants.png
      c3sim study kv-fetch --set serving.hit_rate=[0.5,0.75,1] --plot kv.png
      c3sim study c3-latte --out results
      c3sim study ficco --set pieces.by=dma --set pieces.pieces=[1,4,16]
      c3sim study my-sweep.yaml --jobs 2
    """
    from c3sim.api import study as run_study
    from c3sim.cli.progress import progress
    from c3sim.experiments.study import Options, kind_of
    from c3sim.spec.reading.library import names
    from c3sim.spec.reading.loading import open_study

    values = settings(set_)
    loaded = open_study(name)
    kind = kind_of(loaded)
    _check_outputs(loaded.study, kind, plot, out)
    agree = agreeing(yes or (name in names("study") and draws is None and not values))
    with progress() as report:
        result = run_study(
            name,
            node=node,
            set=values,
            band=band,
            draws=draws,
            n_jobs=jobs,
            progress=report,
            agree=agree,
        )
        claims = _claims(kind, result)
        if verdict and draws and band:
            how = Options(settings=values, n_jobs=jobs, progress=report, agree=agree)
            claims = _with_bands(loaded, node, claims, draws, how)
    if plot:
        kind.picture(result, plot)
        say(f"wrote {plot}")
    if out:
        _write(result, kind, _tables(kind, result, claims), out)
    if as_json:
        emit_json({"claims": [each.to_dict() for each in claims]} if verdict else result.to_dict())
    elif verdict:
        nothing = "no figure is published of this study"
        _show([_verdicts(result, claims) if claims else nothing], wide=True)
    elif full:
        _show(_tables(kind, result, claims), wide=True)
    else:
        _show(_summary(kind, result, claims, out), wide=False)


def _show(parts: list[Table | str], *, wide: bool) -> None:
    from c3sim.kit.grid import rendered
    from c3sim.kit.layout import PIPE, WIDE, show

    for table in rendered(parts):
        show(table, piped=WIDE if wide else PIPE)


def _with_bands(
    loaded: LoadedStudy, node: str | None, claims: list[Claim], draws: int, options: Options
) -> list[Claim]:
    """*claims* with the band of each over so many *draws* of the intervals of *node*, or of the
    study's nodes.
    """
    from c3sim.experiments.claim_bands import with_bands
    from c3sim.spec.reading.loading import load_hardware

    if node is not None:
        there = load_hardware(node)
        options = replace(options, node=there.node, provenance=there.provenance)
    return with_bands(loaded, options, claims, draws)


def _tables(kind: Kind, result: StudyResult, claims: list[Claim]) -> list[Table | str]:
    """Every table of *result*, that of its *claims* at the end."""
    return [*kind.tables(result), *([_verdicts(result, claims)] if claims else [])]


def _verdicts(result: StudyResult, claims: list[Claim]) -> Table:
    from c3sim.experiments.claims import verdicts
    from c3sim.kit.grid import remarks

    return verdicts(result.title, claims, remarks(result.get("published", {})))


def _summary(
    kind: Kind, result: StudyResult, claims: list[Claim], out: str | None
) -> list[Table | str]:
    """The answer: the table that the *kind* names, or that of *claims*, or its first; and where the
    rest lies.
    """
    from c3sim.experiments.claims import brief, verdicts

    if kind.summary is not None:
        parts = kind.summary(result)
    elif claims:
        parts = [brief(verdicts(result.title, claims))]
    else:
        tables = (each for each in kind.tables(result) if not isinstance(each, str))
        parts = [brief(each) for each in islice(tables, 1)]
    known = "; --verdict: each published figure" if claims else ""
    where = f"in {Path(out) / result.name}" if out else f"--out DIR writes {result.name}"
    picture = ".png (picture), " if kind.panels is not None else ""
    return [
        *parts,
        f"--full: every table{known}\n{where}: {picture}.txt (every table), .json (data)",
    ]


def _claims(kind: Kind, result: StudyResult) -> list[Claim]:
    """Published figures beside those of *result*; none, and a line that says why, where the file
    has them in a form that this kind does not know.
    """
    try:
        return list(kind.claims(result)) if kind.claims is not None else []
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {short(str(error), 120)}"
        say(f"warning: published: cannot be compared with what came out ({what})")
        return []


def _check_outputs(loaded: Study, kind: Kind, plot: str | None, out: str | None) -> None:
    """True if everything can be written and drawn, before the work. Raises InputError."""
    from c3sim.errors import InputError
    from c3sim.kit.files import check_folder, check_writable
    from c3sim.kit.look import check_picture

    if plot:
        check_picture(plot)
        if kind.panels is None:
            message = (
                f"study {loaded.name!r} has nothing to draw: its kind, {kind.name!r}, has rows"
            )
            raise InputError(f"{message} alone", "--plot")
    if out:
        check_folder(out)
        folder = Path(out)
        existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        check_writable(existing / f"{loaded.name}.json")


def _write(result: StudyResult, kind: Kind, tables: list[Table | str], out: str) -> None:
    """Write tables, as text without colours, the result, as JSON, and its picture to *out*."""
    import json
    from io import StringIO

    from rich.console import Console

    from c3sim.kit.files import make_folder, write_text
    from c3sim.kit.grid import rendered
    from c3sim.kit.layout import WIDE

    base, text = make_folder(out) / result.name, StringIO()
    Console(file=text, width=WIDE, color_system=None).print(*rendered(tables), sep="\n")
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    write_text(f"{base}.txt", "\n".join(lines) + "\n")
    data = json.dumps(result.to_dict(), indent=2, allow_nan=False)
    write_text(f"{base}.json", data + "\n")
    say(f"wrote {base}.txt\nwrote {base}.json")
    if kind.panels is not None:
        kind.picture(result, f"{base}.png")
        say(f"wrote {base}.png")
