"""The laboratory's page, by hand: its sliders, lists, fields and buttons."""

from __future__ import annotations

import json

from browser import Page

import c3sim

WALL = "document.querySelector('[data-figure=wall_s] .now')?.textContent"
COMMAND = "(document.querySelector('[data-part=command]')?.textContent ?? '')"
PATIENT = 30.0  # seconds, on a busy machine
PAIR = "gemm-beside-all-gather"


def open_lab(tab: Page, link: str, **how) -> None:
    tab.visit(link, again=True, **how)
    tab.wait_for(WALL, PATIENT)
    tab.wait_for("document.querySelector('.account')", PATIENT)


def slider(label: str) -> str:
    return f"input[type=range][aria-label={json.dumps(label)}]"


def value_of(label: str) -> str:
    return f"input[aria-label={json.dumps(f'{label}, value')}]"


def text(tab: Page, selector: str) -> str:
    return tab.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def wall(tab: Page) -> str:
    """Wall time as the page shows it, once it shows one: between two runs it shows none."""
    while (shown := tab.evaluate(WALL)) is None:
        tab.wait_for(WALL, PATIENT)
    return shown


def press_on(tab: Page, selector: str, key: str) -> float:
    """Focus the element and press a key; how long the figures then take to follow [s]."""
    tab.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
    before = wall(tab)
    tab.press(key)
    return tab.wait_for(another_wall_than(before), PATIENT)


def another_wall_than(before: str) -> str:
    """JavaScript that holds once another wall time shows; false while none does."""
    shown = json.dumps(before)
    return f"({WALL} ?? {shown}) !== {shown}"


def write(tab: Page, selector: str, words: str) -> None:
    """Replace the text of a field, and leave it."""
    tab.evaluate(
        f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.focus();"
        f" field.value = {json.dumps(words)};"
        " field.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def button(tab: Page, words: str) -> None:
    every = "[...document.querySelectorAll('button')]"
    tab.evaluate(f"{every}.find((each) => each.textContent === {json.dumps(words)}).click()")


def choose(tab: Page, label: str, value: str) -> None:
    tab.evaluate(
        "(() => { const row = [...document.querySelectorAll('label.row')].find((each) =>"
        f" each.textContent.startsWith({json.dumps(label)}));"
        f" const list = row.querySelector('select'); list.value = {json.dumps(value)};"
        " list.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def shown(result: c3sim.Result) -> str:
    return f"{1e3 * result.wall_s:.3f} ms"
