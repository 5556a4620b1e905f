"""Names for shell completion. An error completes nothing, because a shell shows no errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from c3sim.spec.reading.library import Kind


def _packaged(*kinds: Kind) -> Callable[[str], list[str]]:
    """Completes names of packaged files of these *kinds*, and YAML files."""

    def complete(incomplete: str) -> list[str]:
        from c3sim.errors import C3simError
        from c3sim.spec.reading.library import names

        try:
            packaged = [name for kind in kinds for name in names(kind)]
        except C3simError:
            packaged = []
        return _beginning(incomplete, packaged) + _files(incomplete)

    return complete


workloads = _packaged("workload", "iteration")
nodes, studies = _packaged("node"), _packaged("study")


def shown(incomplete: str) -> list[str]:
    """Everything that ``show`` takes."""
    named = _packaged("node", "gpu", "workload", "iteration", "study", "model")
    return named(incomplete) + strategy(incomplete)


def strategy(incomplete: str) -> list[str]:
    """One strategy."""
    return _beginning(incomplete, _strategies())


def strategies(incomplete: str) -> list[str]:
    """A list of strategies separated by commas: the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    names = [name for name in _beginning(last, _strategies()) if name not in given]
    everything = [] if comma else _beginning(incomplete, ["all"])
    return [before + comma + name for name in names] + everything


def kinds(incomplete: str) -> list[str]:
    """Kinds of file that have a schema."""
    return _beginning(
        incomplete, ["node", "gpu", "workload", "iteration", "study", "model", "record"]
    )


def charts(incomplete: str) -> list[str]:
    """Kinds of picture."""
    from c3sim.output.pictures.kind import KINDS

    return _beginning(incomplete, KINDS)


def results(incomplete: str) -> list[str]:
    """Result files, and folders."""
    return _files(incomplete, (".parquet", ".json"))


def _strategies() -> tuple[str, ...]:
    from c3sim.evaluation.strategies.table import STRATEGIES

    return tuple(STRATEGIES)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _files(incomplete: str, suffixes: tuple[str, ...] = (".yaml", ".yml")) -> list[str]:
    """Files of these suffixes (YAML), and folders, that *incomplete* can become."""
    folder, _, last = incomplete.rpartition("/")
    root = Path(folder or ("/" if incomplete.startswith("/") else "."))
    try:
        found = sorted(path for path in root.iterdir() if path.name.startswith(last))
    except OSError:
        return []
    prefix = incomplete[: len(incomplete) - len(last)]
    shown = [path for path in found if last or not path.name.startswith(".")]
    return [
        prefix + path.name + ("/" if path.is_dir() else "")
        for path in shown
        if path.is_dir() or path.suffix in suffixes
    ]
