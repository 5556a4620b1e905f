"""``c3sim lab``: a page in the browser on which a run follows every slider."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from c3sim.cli import complete
from c3sim.cli.emit import say
from c3sim.cli.options import NodeName, Settings, StrategyName, settings


def lab(
    workload: Annotated[
        str,
        Argument(
            metavar="[WORKLOAD]",
            help="What is shown first: a name, or the path of a YAML file.",
            autocompletion=complete.workloads,
        ),
    ] = "gemm-beside-all-gather",
    node: NodeName = None,
    strategy: StrategyName = "as_written",
    set_: Settings = None,
    port: Annotated[
        int | None, Option(min=1, max=65535, help="Left out: the first free one from 8350 on.")
    ] = None,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """A laboratory in the browser: change sizes, channels, links and see at once what it does.

    The page is for this computer alone: it is served on 127.0.0.1, and its link carries a token
    without which nothing is answered. Ctrl-C ends it.

    \b
    Examples:
      c3sim lab
      c3sim lab llama3-70b-gate-up --strategy conccl
      c3sim lab my-workload.yaml --node teaching-4 --port 9000 --no-browser
    """
    from c3sim.lab.choice import Choice
    from c3sim.lab.serve import serve

    changes = {path: str(value) for path, value in settings(set_).items()}
    choice = Choice(workload=workload, node=node or "", strategy=strategy, settings=changes)
    serve(choice, port, browser, say)
