"""``c3sim plot``: a result file as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from c3sim.cli import complete
from c3sim.cli.emit import say
from c3sim.cli.pages import PAGES, write_page


def plot(
    file: Annotated[
        str,
        Argument(
            metavar="FILE",
            help="results.parquet of a sweep, sensitivity.parquet, the folder of either, "
            "or JSON of a study.",
            autocompletion=complete.results,
        ),
    ],
    kind: Annotated[
        str | None,
        Option(
            metavar="KIND",
            help="heatmap, pareto, lines or tornado. Left out: what suits the data.",
            autocompletion=complete.charts,
        ),
    ] = None,
    x: Annotated[str | None, Option(metavar="COLUMN", help="Along the picture.")] = None,
    y: Annotated[str | None, Option(metavar="COLUMN", help="Up the picture.")] = None,
    value: Annotated[
        str | None, Option(metavar="COLUMN", help="Colour of a heat map; output of a tornado.")
    ] = None,
    by: Annotated[
        str | None,
        Option(metavar="COLUMN", help="A line or colour each; of a heat map, a panel each."),
    ] = None,
    where: Annotated[
        list[str] | None,
        Option(
            metavar="CONDITION",
            help="Only these points, as in strategy=sp,conccl or links.bandwidth>='60 GB/s'; "
            "may be repeated.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="The picture: .png, .svg or .pdf; or .html, a page of all points. "
            "Left out: FILE.png here.",
        ),
    ] = None,
) -> None:
    """Draw FILE, what a sweep, a search or a sensitivity study wrote.

    Left out, the kind follows from the data: a tornado for a sensitivity study, a Pareto front
    where a search had several objectives, lines where one axis varies, a heat map where more do.
    Columns are named as in 'c3sim show' and --set.

    \b
    Examples:
      c3sim plot results
      c3sim plot results --kind lines --x gpu.dma_engines.count --y wall_s
      c3sim plot results --by strategy --where 'links.bandwidth>=64 GB/s'
      c3sim plot results --kind pareto --x energy_j --y wall_s
      c3sim plot results --out page.html     to filter, hover and click through
    """
    from c3sim.cli.progress import working
    from c3sim.errors import InputError
    from c3sim.kit.files import check_writable
    from c3sim.kit.look import SUFFIXES
    from c3sim.output.pictures.draw import draw_results
    from c3sim.output.results.table import read_results, select

    target = out or f"{Path(file).resolve().stem}.png"
    check_writable(target, (*SUFFIXES, *PAGES))
    table = select(read_results(file), where or ())
    if not target.lower().endswith(PAGES):
        with working("drawing"):
            draw_results(table, target, kind=kind, x=x, y=y, value=value, by=by)
        say(f"wrote {target}")
        return
    choices = {"--kind": kind, "--x": x, "--y": y, "--value": value, "--by": by}
    for option, given in choices.items():
        if given is not None:
            raise InputError("is chosen in the page itself; leave it out", option, given)
    write_page(table, target)
