"""The left side: what can be changed, as sliders, lists and fields of one choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from c3sim.errors import C3simError
from c3sim.evaluation.strategies.table import STRATEGIES
from c3sim.lab import runs, widgets
from c3sim.lab.choice import LESSONS, Choice
from c3sim.lab.knobs import RESERVED, Knob
from c3sim.lab.widgets import put
from c3sim.spec.reading import library

OWN = "a file of my own"
OTHER = "Any other parameter"
NO_LESSON = "none"


class Form:
    """Shows *choice*; *tell* hears of every other one, and whether other sliders belong to it;
    *open_own* of a file of the reader's own.
    """

    def __init__(
        self, choice: Choice, tell: Callable[[Choice, bool], Any], open_own: Callable[[str], Any]
    ) -> None:
        self.choice, self._tell, self._open = choice, tell, open_own
        self._sliders: dict[str, tuple[int, Knob]] = {}
        self._values: dict[str, tuple[str | None, Any]] = {}  # by path: a text set, what it means
        self._lesson_now = NO_LESSON  # of several that begin alike, the one that was picked
        self.box = put("form", aria_label="What to run", autocomplete="off", class_="form")
        self.box.on("submit", js_handler="(event) => event.preventDefault()")
        self.build()

    def build(self) -> None:
        """Everything anew, as another workload or machine has other sliders."""
        self.box.clear()
        self._sliders, self._values = {}, {}
        with self.box:
            self._pick()
            try:
                knobs = runs.knobs(self.choice)
                names = runs.all_paths(self.choice)
            except (C3simError, OSError):  # the run says why
                knobs, names = [], ()
            for group in dict.fromkeys(knob.group for knob in knobs):
                with part(group):
                    for knob in knobs:
                        if knob.group == group:
                            self._knob(knob)
            self._others(names)

    def state(self) -> list[tuple[int, int, str, bool]]:
        """State of each slider: its number, place, text, and whether it is off the file's value."""
        found = []
        for number, knob in self._sliders.values():
            value = self._value(knob)
            off = value != knob.base
            found.append((number, knob.nearest(value), _shown(knob, value), off))
        return found

    def _pick(self) -> None:
        choice = self.choice
        with part("What"):
            lessons = {title: title for title in (NO_LESSON, *LESSONS)}
            widgets.choice("lesson", {"": lessons}, self._lesson_now, self._lesson)
            widgets.choice("workload", workloads(choice.workload), choice.workload, self.workload)
            widgets.field(OWN, "", self._own, placeholder="my.yaml, or a trace")
            widgets.choice("machine", {"": machines(choice)}, choice.node, self._node)
            word = choice.strategy.partition(":")[0]
            options = {"": {name: f"{name}: {each.help}" for name, each in STRATEGIES.items()}}
            widgets.choice("strategy", options, word, self._strategy)
            widgets.button("All as in the files", self._reset)

    def _lesson(self, title: str) -> None:
        self._lesson_now = title
        if title in LESSONS:
            self._change(LESSONS[title], other=True)

    def workload(self, name: str) -> None:
        """Another workload, by name or path."""
        self._change(self.choice.on_workload(name), other=True)

    def _own(self, name: str) -> Any:
        return self._open(name.strip()) if name.strip() else None

    def _node(self, name: str) -> None:
        self._change(self.choice.on_node(name), other=True)

    def _strategy(self, name: str) -> None:
        self._change(replace(self.choice, strategy=name), other=True)

    def _reset(self) -> None:
        self._change(Choice(workload=self.choice.workload, node=self.choice.node), other=True)

    def _change(self, choice: Choice, other: bool = False) -> None:
        self.choice = choice
        self._tell(choice, other)

    def _value(self, knob: Knob) -> Any:
        """Value of *knob*; a text is read once, as a hand that drags asks many times."""
        if knob.path == RESERVED:
            return runs.value_now(self.choice, knob)
        text = self.choice.settings.get(knob.path)
        known = self._values.get(knob.path)
        if known is None or known[0] != text:
            known = self._values[knob.path] = text, runs.value_now(self.choice, knob)
        return known[1]

    def _slid(self, knob: Knob, place: int) -> None:
        value = knob.values[place]
        self._values[knob.path] = knob.text(value), value
        self._set(knob, knob.text(value))

    def _knob(self, knob: Knob) -> None:
        value = self._value(knob)
        if knob.words:
            words = {str(each): each for each in knob.values}
            options = {"": {word: knob.shown(each) for word, each in words.items()}}

            def chosen(word: str) -> None:
                self._set(knob, knob.text(words[word]))

            off = value != knob.base
            box = widgets.choice(knob.label, options, str(value), chosen, off)
            self._sliders[knob.path] = int(box.id), knob
            return

        def written(text: str) -> None:
            text = text.strip()
            left = text in ("", knob.shown(None), knob.shown(knob.base))
            self._set(knob, None if left else text)

        number = widgets.slider(
            knob.label,
            knob.name,
            len(knob.values) - 1,
            knob.nearest(value),
            _shown(knob, value),
            value != knob.base,
            lambda place: self._slid(knob, int(place)),
            written,
        )
        self._sliders[knob.path] = number, knob

    def _set(self, knob: Knob, text: str | None) -> None:
        if knob.path == RESERVED:
            word = self.choice.strategy.partition(":")[0]
            self._change(replace(self.choice, strategy=f"{word}:{text}" if text else word))
        else:
            self._change(self.choice.setting(knob.path, text))

    def _others(self, names: tuple[str, ...]) -> None:
        """A field for any path, and what is set through it."""
        with part(OTHER):
            widgets.names_to_type(names, data_part="paths")
            path = widgets.entry("", **widgets.PLAIN, aria_label="name of a parameter")
            path.props["placeholder"] = "name, as c3sim show prints it"
            path.props["data-list"] = "paths"
            value = widgets.entry("", **widgets.PLAIN, aria_label="its value")
            value.props["placeholder"] = "value, such as 97 GB/s"
            given = {"path": "", "value": ""}
            widgets.heard(path, "change", lambda text: given.update(path=text.strip()))
            widgets.heard(value, "change", lambda text: given.update(value=text.strip()))

            def put_in() -> None:
                if given["path"] and given["value"]:
                    self._change(self.choice.setting(given["path"], given["value"]), other=True)

            widgets.button("Set", put_in)
            with put("ul", class_="set"):
                for each, text in self.choice.settings.items():
                    if each not in self._sliders:
                        self._entry(each, text)

    def _entry(self, path: str, text: str) -> None:
        def away() -> None:
            self._change(self.choice.setting(path, None), other=True)

        with put("li"):
            put("span", f"{path} = {text}")
            widgets.button("Remove", away, aria_label=f"Remove {path}")


@contextmanager
def part(title: str) -> Iterator[None]:
    """A group of the form with its title."""
    with put("fieldset"):
        put("legend", title)
        yield


def workloads(now: str) -> dict[str, dict[str, str]]:
    """Group -> the workloads to choose from, and *now* where it is a file of one's own."""
    groups: dict[str, dict[str, str]] = {
        "pairs, pieces, single kernels": {},
        "layers of models": {},
    }
    for name in library.names("workload"):
        layer = library.find("workload", name).parent.name == "layers"
        groups[list(groups)[layer]][name] = name
    groups["iterations of models"] = {name: name for name in library.names("iteration")}
    if not any(now in names for names in groups.values()):
        groups["of my own"] = {now: now}
    return groups


def machines(choice: Choice) -> dict[str, str]:
    """The machines to choose from, the workload's own first."""
    own = ""
    with suppress(C3simError, OSError):  # the run says why
        own = f": {runs.own_node(choice)}"
    named = {name: name for name in (*library.names("node"), choice.node) if name}
    return {"": f"the workload's own{own}", **named}


def _shown(knob: Knob, value: Any) -> str:
    """*value* for people; a text that is no value of the knob as it is."""
    return value if isinstance(value, str) else knob.shown(value)
