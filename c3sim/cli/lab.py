"""``c3sim lab``: a page in the browser on which a run follows every slider."""

from __future__ import annotations

from pathlib import Path
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
            help="What is shown first: a name, the path of a YAML file, or a trace with --node.",
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
      c3sim lab job/ --node h200-2   a profiler's trace, written as job.yaml first
    """
    from c3sim.cli.progress import working
    from c3sim.lab.choice import Choice
    from c3sim.lab.serve import serve

    workload = opened(workload, node)
    changes = {path: str(value) for path, value in settings(set_).items()}
    choice = Choice(workload=workload, node=node or "", strategy=strategy, settings=changes)
    with working("starting the laboratory") as line:

        def tell(text: str) -> None:
            line.stop()
            say(text)

        serve(choice, port, browser, tell, opened)


def opened(given: str, node: str | None) -> str:
    """Workload that the laboratory opens for *given*: itself, or the workload that a trace is
    written as.
    """
    return workload_of(given, node) if is_trace(given) else given


def is_trace(given: str) -> bool:
    """True if *given* is a profiler's trace: a folder, or a file of JSON with events."""
    path = Path(given)
    if path.suffix == ".json" and path.is_file():
        return b'"traceEvents"' in path.read_bytes()
    return path.is_dir() or given.endswith(".json.gz")


def workload_of(trace: str, node: str | None) -> str:
    """The path of the workload that *trace* is written as. Raises InputError where it is there
    already, or no machine is named.
    """
    from c3sim.cli.import_workload import import_workload
    from c3sim.errors import InputError

    path = Path(Path(trace).name.split(".")[0] or "trace").with_suffix(".yaml")
    if node is None:
        raise InputError("a trace needs the machine that it is replayed on, by name", "--node")
    if path.exists():
        raise InputError(f"{path} is there already; open it: c3sim lab {path}, or remove it")
    import_workload([Path(trace)], node, None, path, None, False)
    return str(path)
