"""A study: cases, a row of numbers of each, what is concluded from the rows, claims and a picture.

A study file says its ``kind``. One module answers it: of :mod:`c3sim.experiments.papers`, or of
anybody's package that names it as an entry point of the group ``c3sim.studies``. It has

    cases(asked)                what is run, a list; each case has a name and a node
    row(case, study)            the numbers of one case, by name; other processes may run it
    reduce(asked, cases, rows)  the entries of the result, of which ``rows`` is its frame
    tables(found)               tables and lines of text, what matters most last
    summary(found)              the answer, a table and lines of text; may be left out: then it is
                                the table of claims, or the first of ``tables``
    claims(found)               published figures beside those here; may be left out
    panels(found)               the picture; may be left out

and, where they differ from the usual ones, ``WORTH``, the cases from which other processes pay, and
``effort(asked, cases)``, what one case takes and how many of them there are. Cases that are no
workloads and have no ``effort`` are asked about when some are done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, TypeVar

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.effort import Agree, Effort, effort_of
from c3sim.evaluation.shares import Progress
from c3sim.evaluation.strategies.table import unknown_strategy
from c3sim.experiments import papers
from c3sim.experiments.ahead import Ahead
from c3sim.experiments.claims import with_standing
from c3sim.experiments.jobs import WORTH_IT, Workers, of_each
from c3sim.kit import look
from c3sim.kit.files import AnyPath
from c3sim.result.shown import Shown
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import LoadedStudy, load_hardware, load_node
from c3sim.spec.sourced import Leaf
from c3sim.spec.study import Study
from c3sim.spec.words import unknown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from c3sim.experiments.claims import Claim
    from c3sim.kit.grid import Table
    from c3sim.kit.panels import Panel

Item = TypeVar("Item")
Output = TypeVar("Output")
Key = TypeVar("Key")
GROUP = "c3sim.studies"  # of entry points


class Row(dict[str, Any]):
    """Plain data for JSON, whose entries are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class StudyResult(Row, Shown):
    """A study: its name, node, description and source, and the entries of its *kind*."""

    kind: str

    @property
    def title(self) -> str:
        """The study and its node, as tables and pictures name them."""
        return f"{self.name} on {self.node}"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries and lists."""
        return dict(_plain(self))

    def to_frame(self) -> pd.DataFrame:
        """A row per case; entries of entries have names with dots."""
        import pandas as pd

        return pd.json_normalize(self.to_dict()["rows"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Options of the caller of a study; a kind reads what concerns it.

    *node* and *strategies* replace the study's own, *settings* are values by path, each an axis.
    *provenance* is what the file of *node* says about its values; without it no intervals of
    *node* are known. *band* = False skips the band of a c3 study, *draws* replaces its number of
    draws. *n_jobs* is the number of processes; left out: all cores where there are many cases.
    *agree* is told what is ahead before work begins, and raises where that is too much.
    *everywhere*: published figures stand beside those of other nodes than the study's too.
    """

    node: Node | None = None
    provenance: Mapping[str, Leaf] = field(default_factory=dict)
    strategies: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    band: bool = True
    draws: int | None = None
    n_jobs: int | None = None
    progress: Progress | None = None
    agree: Agree | None = None
    everywhere: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A study as it was asked for: *loaded*, with the settings of *options* as axes."""

    loaded: LoadedStudy
    options: Options

    @property
    def study(self) -> Study:
        return self.loaded.study

    def nodes(self) -> list[Node]:
        """The node asked for, or the study's."""
        if self.options.node is not None:
            return [self.options.node]
        return [load_node(name) for name in self.study.nodes or (self.study.node,)]

    def provenance(self) -> Mapping[str, Leaf]:
        """The provenance of the node's values."""
        own = self.options.node is None
        return load_hardware(self.study.node).provenance if own else self.options.provenance

    def published(self, node: Node) -> Mapping[str, Any]:
        """The published figures, which hold on the study's own node only."""
        here = node.name == self.study.node or self.options.everywhere
        return self.study.published if here else {}

    def ask(self, one: Effort, cases: int, jobs: int | None = None) -> None:
        """Decide whether to run so many *cases* that each take *one*; ``agree`` raises where not.
        *jobs*: of a kind that runs in fewer processes than it is given.
        """
        if self.options.agree is not None:
            jobs = jobs or self.options.n_jobs or (os.cpu_count() or 1)
            self.options.agree(one.times(cases, jobs))

    def each(
        self,
        function: Callable[[Item], Output],
        items: Sequence[Item],
        *,
        what: str,
        worth: int = WORTH_IT,
        counted: bool = True,
        together: int = 1,
    ) -> list[Output]:
        """*function* of each of *items*, in order; *what* names the work to the caller, who is
        asked when some of it is done if it was not *counted* before. *together* neighbours stay in
        one process.
        """
        told, agree = self.options.progress, self.options.agree
        watcher = Ahead(None if counted else agree, told and partial(told, what))
        workers = Workers(jobs=self.options.n_jobs, copied=True, worth=worth)
        return of_each(function, items, workers, watcher, together)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of study: the functions of its module."""

    name: str
    cases: Callable[[Asked], Sequence[Any]]
    row: Callable[[Any, Study], Row]
    reduce: Callable[[Asked, Sequence[Any], list[Row]], Mapping[str, Any]]
    tables: Callable[[StudyResult], list[Table | str]]
    summary: Callable[[StudyResult], list[Table | str]] | None
    claims: Callable[[StudyResult], Iterable[Claim]] | None
    panels: Callable[[StudyResult], list[Panel]] | None
    effort: Callable[[Asked, Sequence[Any]], tuple[Effort, int] | None]
    worth: int
    together: Callable[[Sequence[Any]], int]

    def picture(self, result: StudyResult, path: AnyPath | None = None) -> Figure:
        """The picture of *result*, written to *path* (PNG, SVG or PDF, by suffix) if given. Raises
        InputError: an unknown suffix, a place that cannot be written.
        """
        from c3sim.kit.panels import draw

        panels = self.panels
        assert panels is not None  # the caller asks before the work
        return look.picture(lambda: draw(result.title, panels(result)), path)


def kinds() -> dict[str, str]:
    """Name of each kind of study -> its module: packaged ones, and those of entry points."""
    packaged = {
        each.name: f"{papers.__name__}.{each.name}" for each in iter_modules(papers.__path__)
    }
    return {**{each.name: each.value for each in entry_points(group=GROUP)}, **packaged}


def kind_of(loaded: LoadedStudy) -> Kind:
    """The kind of a study. Raises InputError: there is none of that name, or its module lacks a
    function.
    """
    name, known = loaded.study.kind, kinds()
    if name not in known:
        raise loaded.error(unknown("kind of study", name, known), "kind")
    return named_kind(name)


@cache
def named_kind(name: str) -> Kind:
    """The kind called *name*. Raises InputError: its module lacks a function."""
    known = kinds()
    module: Any = import_module(known[name])
    claims = getattr(module, "claims", None)
    missing = [each for each in ("cases", "row", "reduce", "tables") if not hasattr(module, each)]
    if missing:
        raise InputError(f"{known[name]} has no {' and no '.join(missing)}", "kind")
    return Kind(
        name=name,
        cases=module.cases,
        row=module.row,
        reduce=module.reduce,
        tables=module.tables,
        summary=getattr(module, "summary", None),
        claims=claims and with_standing(claims),
        panels=getattr(module, "panels", None),
        effort=getattr(module, "effort", _effort),
        worth=getattr(module, "WORTH", WORTH_IT),
        together=getattr(module, "together", lambda _: 1),
    )


def run_study(study: Study | LoadedStudy, options: Options | None = None) -> StudyResult:
    """Run *study*; the result is that of its kind. Raises InputError."""
    loaded = LoadedStudy(study=study) if isinstance(study, Study) else study
    options = options or Options()
    changed = with_settings(loaded.study, options.settings)
    if options.strategies:
        changed = changed.changed(strategies=tuple(options.strategies))
    loaded = replace(loaded, study=changed)
    for index, name in enumerate(changed.strategies):
        if mistake := unknown_strategy(name):
            raise loaded.error(mistake, f"strategies[{index}]")
    kind = kind_of(loaded)
    asked = Asked(loaded=loaded, options=options)
    with _located(asked):
        asked.nodes()
        cases = kind.cases(asked)
    counted = kind.effort(asked, cases) if options.agree is not None else None
    if counted is not None:
        asked.ask(*counted)
    work, known = partial(_row, kind.row, changed), counted is not None
    how: dict[str, Any] = {"worth": kind.worth, "counted": known, "together": kind.together(cases)}
    rows = asked.each(work, cases, what="scenarios", **how)
    about = {"description": changed.description, "source": changed.source}
    result = StudyResult(name=changed.name, node=cases[0].node.name, **about)
    result.update(kind.reduce(asked, cases, rows))
    result.kind = kind.name
    return result


@contextmanager
def _located(asked: Asked) -> Iterator[None]:
    """Puts file and line of the study on mistakes raised inside that are of its values."""
    loaded, options = asked.loaded, asked.options
    try:
        yield
    except InputError as error:
        raise _placed(error, loaded, options) from None
    except InputErrors as error:
        raise InputErrors(_placed(each, loaded, options) for each in error.errors) from None


def _placed(error: InputError, loaded: LoadedStudy, options: Options) -> InputError:
    """*error* with file and line, unless it has them or comes from *options*."""
    node = not error.path and options.node is None and error.message.startswith("unknown node")
    path = "node" if node else error.path
    begins = path.replace("[", ".").split(".")[0]
    unknown = not path and options.settings  # may be of a setting as well
    if error.file or unknown or path in options.settings or begins not in loaded.places:
        return error
    return loaded.error(error.message, path)


def _row(function: Callable[[Any, Study], Row], study: Study, case: Any) -> Row:
    return function(case, study)


def _effort(asked: Asked, cases: Sequence[Any]) -> tuple[Effort, int] | None:
    """The effort of cases that are workloads, under every strategy; None: of others."""
    if not all(hasattr(case, "workload") for case in cases):
        return None
    one = Effort.mean(effort_of(case.workload, case.node) for case in cases)
    return one, len(cases) * max(len(asked.study.strategies), 1)


def with_settings(study: Study, settings: Mapping[str, object]) -> Study:
    """*study* with an axis for each path of *settings*, which so wins over file and scenarios;
    ``[0.5, 0.9]`` is several values.
    """
    axes = {path: _values(value) for path, value in settings.items()}
    return study.changed(axes={**study.axes, **axes})


def _values(value: object) -> tuple[Any, ...]:
    if isinstance(value, list | tuple):
        return tuple(value)
    text = value.strip() if isinstance(value, str) else ""
    if not (text.startswith("[") and text.endswith("]")):
        return (value,)
    try:
        return tuple(json.loads(text))
    except ValueError:  # words and quantities need no quotes
        return tuple(part.strip() for part in text[1:-1].split(",") if part.strip())


def grouped(rows: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """*rows* by their *key*, in the order in which the keys come first."""
    groups: dict[Key, list[Item]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    return value
