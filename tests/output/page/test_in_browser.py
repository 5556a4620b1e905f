"""The page in a real browser, by hand: pointer and keys, in light and dark, wide and narrow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import Page
from report_case import FAILED, POINTS

from c3sim.output.page.palette import DARK, LIGHT

pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]


def text(tab: Page, selector: str) -> str:
    return tab.evaluate(f"document.querySelector({selector!r}).textContent")


def hidden(tab: Page, name: str) -> bool:
    return tab.evaluate(f"document.getElementById({name!r}).hidden")


def choose(tab: Page, name: str, value: str) -> None:
    tab.evaluate(
        f"(() => {{ const s = document.getElementById({name!r}); s.value = {value!r}; "
        "s.dispatchEvent(new Event('change')); })()"
    )


def look_for(tab: Page, text_in_tip: str | None = None) -> tuple[float, float]:
    """Move the pointer over the chart until a tooltip shows; where that was."""
    left, top, width, height = tab.evaluate(
        "(() => { const b = document.getElementById('chart').getBoundingClientRect(); "
        "return [b.left, b.top, b.width, b.height]; })()"
    )
    for across in range(24):
        for down in range(14):
            x, y = left + 80 + across * (width - 100) / 24, top + 15 + down * (height - 70) / 14
            tab.hover(x, y)
            if not hidden(tab, "tip") and (text_in_tip is None or text_in_tip in text(tab, "#tip")):
                return x, y
    raise AssertionError("no point of the chart shows a tooltip")


def test_the_first_screen_says_what_it_is(tab: Page):
    assert text(tab, "#title") == "pages"
    assert text(tab, "#description") == "Is <b>markup</b> shown as text, & are channels counted?"
    assert f"{POINTS} points, {FAILED} failed" in text(tab, "#provenance")
    assert "c3sim sweep pages.yaml --report page.html" in text(tab, "#provenance")
    assert text(tab, "#count") == f"{POINTS} of {POINTS} points, {FAILED} failed"


def test_a_filter_changes_count_table_and_chart(tab: Page):
    tab.click("input[name=strategy][value='1']")
    assert text(tab, "#count") == "18 of 36 points, 6 failed"
    strategies = (
        "[...document.querySelectorAll('#points tbody tr')].map((row) => "
        "row.children[4].textContent)"
    )
    assert set(tab.evaluate(strategies)) == {"base"}
    tab.click("input[name=failed]")
    assert text(tab, "#count") == "12 of 36 points"
    tab.click("#reset")
    assert text(tab, "#count") == "36 of 36 points, 12 failed"


def test_an_output_can_be_limited(tab: Page, table):
    which = "document.querySelector('[aria-label=\"output to limit\"]')"
    limit = "document.querySelector('input[type=number]')"
    tab.evaluate(
        f"{which}.value = 'fraction_of_ideal'; {limit}.value = '50';"
        f" {limit}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )
    fast = int((table.frame["fraction_of_ideal"] >= 0.5).sum())
    assert 0 < fast < POINTS - FAILED
    assert text(tab, "#count").startswith(f"{fast + FAILED} of 36")


@pytest.mark.parametrize("view", ["scatter", "lines", "heatmap"])
def test_hovering_shows_every_value_and_a_click_opens_the_point(tab: Page, view: str):
    tab.click(f"[data-view={view}]")
    assert (
        tab.evaluate(f"document.querySelector('[data-view={view}]').getAttribute('aria-pressed')")
        == "true"
    )
    x, y = look_for(tab, "wall time")  # one that did not fail
    tip = text(tab, "#tip")
    for words in (
        "links bandwidth",
        "GB/s",
        "strategy",
        "wall time",
        "fraction of ideal",
        "energy",
        "slowdown of gather",
    ):
        assert words in tip
    number = re.match(r"Point (\d+)", tip).group(1)
    tab.click_at(x, y)
    assert not hidden(tab, "panel") and text(tab, "#panel-title") == f"Point {number}"
    assert tab.evaluate("document.activeElement.id") == "panel"


def test_a_heat_map_shows_one_strategy_of_one_scenario(tab: Page):
    """That of the best point at first; no cell holds points of two, until all are asked for."""
    tab.click("[data-view=heatmap]")
    of = tab.evaluate("[...document.querySelectorAll('#of option')].map((o) => o.textContent)")
    assert len(of) == 5 and of[-1] == "all, mixed"
    assert text(tab, "#said") == ""
    choose(tab, "of", "pair, base")
    assert "base" in text(tab, "#of option:checked") and text(tab, "#said") == ""
    choose(tab, "of", "")
    assert text(tab, "#said").startswith("Cells hold up to 4 points")


def open_row(tab: Page, row: int) -> None:
    choose(tab, "rows", "100")
    tab.click(f"tr[data-row='{row}'] button")


def test_an_open_point_has_its_timeline_explanation_and_command(tab: Page, table):
    open_row(tab, 1)
    bars = tab.evaluate("document.querySelectorAll('#panel svg rect').length")
    assert bars > 4 and tab.evaluate("document.querySelectorAll('#panel svg polygon').length") > 4
    said = text(tab, "#panel svg")
    for words in (
        "gemm",
        "gather",
        "HBM bandwidth",
        "Power",
        "mean",
        "time since all streams were released",
    ):
        assert words in said
    account = text(tab, "#account")
    slowdown = table.columns["tasks.gather.slowdown"].values[1]
    assert "gemm: alone" in account and f"= gather with the others, {slowdown:.2f}x" in account
    command = text(tab, ".command code")
    assert command == (
        "c3sim explain gemm-beside-all-gather --node teaching-4 --strategy conccl "
        "--set 'links.bandwidth=10.0 GB/s' --set task.gather.channels=2"
    )
    left, top, width = tab.evaluate(
        "(() => { const b = document.querySelector('#panel svg').getBoundingClientRect(); "
        "return [b.left, b.top, b.width]; })()"
    )
    tab.hover(left + width / 2, top + 60)
    assert re.match(r"at [\d.]+ \w+; Busy compute units \d+ units", text(tab, "#readout"))


def test_a_command_can_be_copied(tab: Page):
    open_row(tab, 1)
    tab.click(".command button")
    tab.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert text(tab, ".command button") in ("Copied", "Selected")
    assert text(tab, "#live") in ("Command copied", "Command selected")


def test_a_point_that_failed_says_why(tab: Page):
    open_row(tab, 4)
    assert "This point failed: " in text(tab, "#panel-body") and "must be at most" in text(
        tab, "#panel-body"
    )
    assert tab.evaluate("document.querySelectorAll('#panel svg').length") == 0
    row = "document.querySelector(\"tr[data-row='4']\").textContent"
    assert "failed: " in tab.evaluate(row)


def test_keys_walk_open_and_close(tab: Page):
    tab.click("[data-view=scatter]")
    tab.evaluate("document.getElementById('chart').focus()")
    tab.press("ArrowRight")
    assert not hidden(tab, "tip") and text(tab, "#live").startswith("Point ")
    first = text(tab, "#live")
    tab.press("ArrowRight")
    assert text(tab, "#live") != first
    tab.press("Enter")
    assert not hidden(tab, "panel") and text(tab, "#panel-title") in text(tab, "#live")
    tab.press("Escape")
    assert hidden(tab, "panel") and tab.evaluate("document.activeElement.id") == "chart"


def test_a_row_opens_by_key_and_neighbours_follow(tab: Page):
    tab.evaluate("document.querySelector('#points tbody button').focus()")
    tab.press("Enter")
    assert text(tab, "#panel-title") == "Point 0"
    tab.click("#next")
    assert text(tab, "#panel-title") == "Point 1"
    tab.click("#close")
    assert hidden(tab, "panel")


def test_an_address_can_name_a_point(browser: Page, page: Path):
    browser.open(page)
    open_row(browser, 7)
    assert browser.evaluate("location.hash") == "#point-7"
    browser.open(page, fragment="#point-7")
    browser.settle()
    assert text(browser, "#panel-title") == "Point 7" and not hidden(browser, "panel")
    browser.press("Escape")
    assert hidden(browser, "panel") and browser.evaluate("location.hash") == ""
    assert browser.complaints() == []


def test_everything_that_can_be_used_has_a_name(tab: Page):
    open_row(tab, 1)
    nameless = """[...document.querySelectorAll(
        "button, input, select, canvas, svg, [tabindex='0']")]
      .filter((each) => !(
        each.getAttribute("aria-label") || each.getAttribute("aria-hidden")
        || each.textContent.trim() || each.labels?.length
        || each.closest("[aria-hidden=true]") || each.closest("#legend")))
      .map((each) => each.outerHTML.slice(0, 80))"""
    assert tab.evaluate(nameless) == []


def test_the_table_is_sorted_by_a_click_missing_values_last(tab: Page, table):
    walls = table.frame["wall_s"].dropna().tolist()
    shown = (
        "[...document.querySelectorAll('#points tbody tr')].map((row) => "
        "row.children[5].textContent)"
    )
    tab.click("th button[data-name=wall_s]")
    up = [float(value) for value in tab.evaluate(shown)[:24]]
    assert up == sorted(up) and up[0] == pytest.approx(1e3 * min(walls), rel=1e-3)  # shown in ms
    assert (
        tab.evaluate("document.querySelector('th[aria-sort=ascending]').textContent")
        == "wall time (ms) ▲"
    )
    tab.click("th button[data-name=wall_s]")
    down = [float(value) for value in tab.evaluate(shown)[:24]]
    assert down == sorted(down, reverse=True)
    assert text(tab, "#page") == "page 1 of 2"
    tab.click("#after")
    assert "failed" in text(tab, "#points tbody")


def test_dark_and_light(browser: Page, page: Path):
    def paper():
        red, green, blue = re.findall(
            r"\d+", browser.evaluate("getComputedStyle(document.body).backgroundColor")
        )
        return f"#{int(red):02x}{int(green):02x}{int(blue):02x}"

    for dark in (False, True):
        browser.open(page, dark=dark)
        browser.evaluate(
            "try { localStorage.clear() } catch {}; delete document.documentElement.dataset.theme"
        )
        browser.open(page, dark=dark)
        assert paper() == (DARK if dark else LIGHT)["paper"]
        browser.click("#theme")
        assert paper() == (LIGHT if dark else DARK)["paper"]
        assert (
            browser.evaluate("document.getElementById('theme').getAttribute('aria-pressed')")
            == str(not dark).lower()
        )
    browser.evaluate("try { localStorage.clear() } catch {}")
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_itself_never_scrolls_sideways(browser: Page, page: Path, width: int):
    browser.open(page, width=width)
    open_row(browser, 1)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.getElementById('panel').getBoundingClientRect().left") >= 0
    assert browser.complaints() == []


def test_the_chart_draws_in_the_colours_of_its_series(tab: Page):
    """Pixels of each series are on the canvas: what was drawn can be seen."""
    tab.click("[data-view=scatter]")
    style = "getComputedStyle(document.documentElement)"
    colours = [
        tab.evaluate(f"{style}.getPropertyValue('--series-{number}').trim()") for number in (0, 1)
    ]
    channels = [[int(colour[place : place + 2], 16) for place in (1, 3, 5)] for colour in colours]
    count = """((wanted) => { const c = document.getElementById("chart"), g = c.getContext("2d");
      const data = g.getImageData(0, 0, c.width, c.height).data, found = wanted.map(() => 0);
      for (let at = 0; at < data.length; at += 4) wanted.forEach((colour, number) => {
        if (data[at + 3] > 150 && [0, 1, 2].every((k) => Math.abs(data[at + k] - colour[k]) < 30))
          found[number]++; });
      return found; })"""
    assert min(tab.evaluate(f"{count}({channels})")) > 20
