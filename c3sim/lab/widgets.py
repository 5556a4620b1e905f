"""A labelled slider, choice, field and button: the browser's own, so that keys and screen readers
know them. NiceGUI carries their events here.

What a reader has changed is never written over by a new drawing of the page: a value is given as
the attribute it begins with, later ones by the page's script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

Act = Callable[[], Any]
Tell = Callable[[str], Any]
VALUE = "(event) => event.target.matches('{which}') && emit(event.target.value)"
DRAGGED = 0.04  # seconds between two places of a slider that the server hears of
PLAIN = {"type": "text", "autocomplete": "off", "spellcheck": "false"}


def put(tag: str, text: str = "", **attributes: str) -> TextElement:
    """An element with a *text* that is never read as markup; attributes by name, _ for -."""
    element = TextElement(tag=tag, text=text)
    for name, value in attributes.items():
        element.props[name.strip("_").replace("_", "-")] = value
    return element


def entry(value: str, **attributes: str) -> TextElement:
    """A field or slider that begins with *value*."""
    element = put("input", **attributes)
    element.props["^value"] = value
    return element


def heard(
    element: Element, event: str, tell: Tell, which: str = "*", pause: float = 0.0
) -> Element:
    """*tell* gets the value at every *event* of *element*, or of those in it that match *which*; of
    several within *pause* s the first and the last.
    """
    asked = VALUE.format(which=which)
    return element.on(event, lambda given: tell(str(given.args)), js_handler=asked, throttle=pause)


def button(text: str, act: Act, **attributes: str) -> TextElement:
    return put("button", text, type="button", **attributes).on("click", act, args=[])


def choice(
    label: str, groups: Mapping[str, Mapping[str, str]], value: str, tell: Tell, off: bool = False
) -> Element:
    """A list to choose from: group -> value -> text; a group without a name stands by itself.
    *off*: it stands off the file's value.
    """
    inside = []
    for group, options in groups.items():
        listed = "".join(_option(name, text, name == value) for name, text in options.items())
        of = f'<optgroup label="{escape(group)}">{listed}</optgroup>'
        inside.append(of if group else listed)
    listed = f"<select>{''.join(inside)}</select>"
    return heard(_row(label, listed, "row changed" if off else "row"), "change", tell)


def _row(label: str, inside: str, kind: str = "row") -> Element:
    return _filled("label", f"<span>{escape(label)}</span>{inside}", class_=kind)


def names_to_type(names: Sequence[str], **attributes: str) -> Element:
    """The names that a field offers while one types."""
    return _filled("datalist", _listed(tuple(names)), **attributes)


@lru_cache(maxsize=8)  # one text for all tabs: 25 kB of hundreds of names
def _listed(names: tuple[str, ...]) -> str:
    return "".join(_option(name) for name in names)


def _option(value: str, text: str = "", chosen: bool = False) -> str:
    return f'<option value="{escape(value)}"{" selected" * chosen}>{escape(text)}</option>'


def _input(value: str, **attributes: str) -> str:
    given = {**attributes, "value": value}
    texts = (f'{name.replace("_", "-")}="{escape(text)}"' for name, text in given.items())
    return f"<input {' '.join(texts)}>"


def _filled(tag: str, inside: str, **attributes: str) -> Element:
    """An element with this markup *inside*: each element of NiceGUI takes 5 kB of every tab."""
    return put(tag, innerHTML=inside, **attributes)


def field(label: str, value: str, tell: Tell, **attributes: str) -> Element:
    """A field for a text; *tell* hears of it when it is left or Enter is pressed."""
    return heard(_row(label, _input(value, **PLAIN, **attributes)), "change", tell)


def slider(
    label: str, name: str, most: int, place: int, shown: str, off: bool, slid: Tell, written: Tell
) -> int:
    """A slider with places from 0 to *most*, and a field beside it that takes any other value;
    *off*: it stands off the file's value.

    *slid* hears the number of a place, *written* a text. Returns the number by which the page's
    script knows it.
    """
    ends = {"type": "range", "min": "0", "max": str(most), "step": "1"}
    inside = (
        f'<span aria-hidden="true">{escape(label)}</span>',
        _input(str(place), **ends, aria_label=name, aria_valuetext=shown),
        _input(shown, **PLAIN, aria_label=f"{name}, value"),
    )
    box = _filled("div", "".join(inside), class_="knob changed" if off else "knob")
    heard(box, "input", slid, "[type=range]", DRAGGED)
    heard(box, "change", written, "[type=text]")
    return int(box.id)
