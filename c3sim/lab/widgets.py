"""A labelled slider, choice, field and button: the browser's own, so that keys and screen readers
know them. NiceGUI carries their events here.

What a reader has changed is never written over by a new drawing of the page: a value is given as
the attribute it begins with (``^value``), later ones by the page's script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

Act = Callable[[], Any]
Tell = Callable[[str], Any]
VALUE = "(event) => emit(event.target.value)"
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


def heard(element: Element, event: str, tell: Tell, pause: float = 0.0) -> Element:
    """*tell* gets the value of *element* at every *event*, of several within *pause* s the first
    and the last.
    """
    return element.on(event, lambda given: tell(str(given.args)), js_handler=VALUE, throttle=pause)


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
    with put("label", class_="row changed" if off else "row"):
        put("span", label)
        element = _filled("select", "".join(inside))
    return heard(element, "change", tell)


def names_to_type(names: Sequence[str], **attributes: str) -> Element:
    """The names that a field offers while one types."""
    return _filled("datalist", "".join(_option(name) for name in names), **attributes)


def _option(value: str, text: str = "", chosen: bool = False) -> str:
    return f'<option value="{escape(value)}"{" selected" * chosen}>{escape(text)}</option>'


def _filled(tag: str, inside: str, **attributes: str) -> Element:
    """An element with this markup *inside*: as elements of their own, hundreds of options took most
    of the memory of a tab.
    """
    return put(tag, innerHTML=inside, **attributes)


def field(label: str, value: str, tell: Tell, **attributes: str) -> Element:
    """A field for a text; *tell* hears of it when it is left or Enter is pressed."""
    with put("label", class_="row"):
        put("span", label)
        element = entry(value, **PLAIN, **attributes)
    return heard(element, "change", tell)


def slider(
    label: str, name: str, most: int, place: int, shown: str, off: bool, slid: Tell, written: Tell
) -> int:
    """A slider with places from 0 to *most*, and a field beside it that takes any other value;
    *off*: it stands off the file's value.

    *slid* hears the number of a place, *written* a text. Returns the number by which the page's
    script knows it.
    """
    with put("div", class_="knob changed" if off else "knob") as box:
        put("span", label, aria_hidden="true")
        ends = {"type": "range", "min": "0", "max": str(most), "step": "1"}
        heard(
            entry(str(place), **ends, aria_label=name, aria_valuetext=shown), "input", slid, DRAGGED
        )
        heard(entry(shown, **PLAIN, aria_label=f"{name}, value"), "change", written)
    return int(box.id)
