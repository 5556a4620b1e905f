"""The laboratory in a real browser, by hand: sliders, fields, pointer and keys."""

import json
import re
import shlex
import urllib.request
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import Page
from lab_page import (
    COMMAND,
    PAIR,
    PATIENT,
    WALL,
    another_wall_than,
    button,
    choose,
    open_lab,
    press_on,
    shown,
    slider,
    text,
    value_of,
    wall,
    write,
)

import c3sim

FOLLOWS = 0.2  # seconds that the figures may take: the best of some, as others may run beside

pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]


def test_a_slider_moves_and_everything_follows(tab: Page):
    took = [press_on(tab, slider("gather: channels"), "ArrowRight") for _ in range(3)]
    assert sorted(took)[0] < FOLLOWS
    same = c3sim.run(PAIR, set={"task.gather.channels": 3})
    assert wall(tab) == shown(same)
    assert (
        tab.evaluate(f"document.querySelector({json.dumps(value_of('gather: channels'))}).value")
        == "3"
    )
    assert text(tab, "[data-part=said]").startswith(f"wall time {shown(same)}")
    assert "task.gather.channels=3" in text(tab, "[data-part=command]")
    tab.wait_for("document.querySelector('.account')", PATIENT)  # where the time went follows too
    account = c3sim.explain(PAIR, set={"task.gather.channels": 3})
    slowdown = account.tasks["gather"].slowdown
    assert f"= gather with the others, {slowdown:.2f}x" in text(
        tab, "[data-run=now] .account, .account"
    )
    tab.wait_for("document.querySelector('[data-figure=wall_s] .soft').textContent", PATIENT)
    assert re.fullmatch(r"[\d.]+ ms to [\d.]+ ms", text(tab, "[data-figure=wall_s] .soft"))


def test_a_value_can_be_written_and_a_mistake_is_said(tab: Page):
    write(tab, value_of("Machine: link bandwidth"), "200 GB/s")
    same = c3sim.run(PAIR, set={"links.bandwidth": "200 GB/s"})
    tab.wait_for(f"({WALL}) === {json.dumps(shown(same))}", PATIENT)
    assert "what-if" in text(tab, "[data-part=desk]")
    write(tab, value_of("Machine: link bandwidth"), "25 parsecs")
    tab.wait_for("document.querySelector('[role=alert]')", PATIENT)
    assert "links.bandwidth" in text(tab, "[role=alert]")
    write(tab, value_of("Machine: link bandwidth"), "")  # as the file has it
    tab.wait_for("!document.querySelector('[role=alert]')", PATIENT)
    assert wall(tab) == shown(c3sim.run(PAIR))


def test_any_parameter_by_name_and_away_again(tab: Page):
    assert tab.evaluate("document.querySelector('[data-list=paths]').list.options.length") > 100
    write(tab, "[aria-label='name of a parameter']", "gpu.memory_side_cache.bandwidth")
    write(tab, "[aria-label='its value']", "1 TB/s")
    before = wall(tab)
    tab.evaluate("[...document.querySelectorAll('.form button')].at(-1).click()")
    tab.wait_for(
        "document.querySelector('[aria-label=\"Remove gpu.memory_side_cache.bandwidth\"]')", PATIENT
    )
    tab.wait_for(another_wall_than(before), PATIENT)
    tab.click("[aria-label='Remove gpu.memory_side_cache.bandwidth']")
    tab.wait_for(f"({WALL}) === {json.dumps(before)}", PATIENT)


def test_strategy_machine_and_workload(tab: Page):
    machine = "[...document.querySelectorAll('option')].find((each) => each.value === '')"
    assert tab.evaluate(f"{machine}.textContent") == "the workload's own: mi300x-8"
    choose(tab, "strategy", "rp")
    tab.wait_for(f"document.querySelector({json.dumps(slider('Strategy: reserved CUs'))})", PATIENT)
    tab.wait_for(f"{COMMAND}.includes('--strategy rp')", PATIENT)
    press_on(tab, slider("Strategy: reserved CUs"), "ArrowRight")
    assert re.search(r"--strategy rp:\d+", text(tab, "[data-part=command]"))
    choose(tab, "machine", "h200-8")
    tab.wait_for(f"{COMMAND}.includes('--node h200-8')", PATIENT)
    choose(tab, "strategy", "as_written")
    tab.wait_for(f"{COMMAND}.includes('as_written')", PATIENT)
    choose(tab, "workload", "gemm-alone")
    alone = shown(c3sim.run("gemm-alone", node="h200-8"))
    tab.wait_for(f"({WALL}) === {json.dumps(alone)}", PATIENT)
    assert "gather" not in text(tab, ".form fieldset:nth-of-type(2)")


@pytest.mark.parametrize(
    "name",
    [
        *("gemm-behind-all-gather-in-pieces", "gemm-beside-all-to-all-across-nodes"),
        *("dma-collective", "stores-beside-gemm", "llama3-70b-decode"),
    ],
)
def test_every_form_of_workload_has_a_page(link: str, name: str):
    """A schedule, several nodes, a program of engines, stores, an iteration; the sliders of all
    packaged ones are in test_knobs.py.
    """
    with urllib.request.urlopen(link.replace(PAIR, name)) as page:
        assert page.status == 200 and b"What to run" in page.read()


def test_a_choice_between_words_is_set_and_taken_back(browser: Page, link: str):
    """A schedule's: whether its GEMMs are fused is yes or no."""
    browser.visit(link.replace(PAIR, "gemm-behind-all-gather-in-pieces"), again=True)
    browser.wait_for(WALL, PATIENT)
    before = wall(browser)
    choose(browser, "fused", "False")
    browser.wait_for(f"{COMMAND}.includes('workload.schedule.fused=false')", PATIENT)
    choose(browser, "fused", "True")
    browser.wait_for(f"!{COMMAND}.includes('fused')", PATIENT)
    assert wall(browser) == before
    assert browser.complaints() == []


def test_a_run_is_pinned_and_compared(tab: Page):
    before = wall(tab)
    tab.click("[data-part=pin]")
    press_on(tab, slider("gather: size"), "ArrowLeft")
    tab.wait_for("document.querySelectorAll('.account').length === 2", PATIENT)
    row = tab.evaluate(
        "[...document.querySelector('[data-figure=wall_s]').cells].map((c) => c.textContent)"
    )
    assert row[3] == before and row[1] == wall(tab)
    change = 100 * (float(row[1].split()[0]) / float(row[3].split()[0]) - 1)
    assert float(row[4].split()[0]) == pytest.approx(change, abs=0.2)
    assert tab.evaluate("document.querySelectorAll('.timeline svg').length") == 2
    tab.click("[data-part=pin]")
    tab.wait_for("document.querySelectorAll('.timeline svg').length === 1", PATIENT)


@pytest.mark.parametrize(
    "what", ["link", *(pytest.param(each, marks=pytest.mark.long) for each in ("command", "YAML"))]
)
def test_what_is_copied_gives_the_same_again(tab: Page, link: str, what: str):
    press_on(tab, slider("gather: channels"), "ArrowRight")
    now = wall(tab)
    button(tab, f"Copy {what}")
    tab.wait_for("document.documentElement.dataset.copied", PATIENT)
    copied = tab.evaluate("document.documentElement.dataset.copied")
    assert text(tab, "[data-part=live]") == f"{what} copied"
    if what == "command":
        assert shlex.split(copied)[-2:] == ["--set", "task.gather.channels=1"]
    elif what == "YAML":
        assert "task.gather.channels: '1'" in copied
    else:
        assert parse_qs(urlsplit(copied).query)["token"] == parse_qs(urlsplit(link).query)["token"]
        open_lab(tab, copied)
        assert wall(tab) == now


def test_the_picture_is_saved(tab: Page, tmp_path):
    tab.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    button(tab, "Save SVG")
    tab.wait_for(f"{WALL}", PATIENT)
    for _ in range(300):
        if (saved := tmp_path / f"{PAIR}.svg").exists() and b"</svg>" in saved.read_bytes():
            break
        tab.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert b"<svg" in saved.read_bytes()


def test_keys_alone_are_enough(tab: Page):
    """From the top, Tab reaches every control in order; a slider and the pin work by key."""
    seen = []
    for _ in range(60):
        tab.press("Tab")
        seen.append(
            tab.evaluate(
                "(() => { const e = document.activeElement; return e.getAttribute('aria-label')"
                " || e.labels?.[0]?.querySelector('span').textContent || e.textContent; })()"
            )
        )
        if seen[-1] == "Set":
            break
    assert seen[:2] == ["Pin this run", "Copy command"]
    order = [
        "workload",
        "machine",
        "strategy",
        "gemm: m",
        "gather: channels",
        "Machine: clock limit",
    ]
    assert [name for name in seen if name in order] == order and seen[-1] == "Set"
    tab.evaluate("document.querySelector('[data-part=pin]').focus()")
    tab.press("Enter")
    tab.wait_for("document.querySelector('[data-part=pin]').textContent === 'Unpin'", PATIENT)


def test_screen_readers_hear_names_and_values(tab: Page):
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    used = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if node.get("role", {}).get("value") in ("slider", "combobox", "textbox", "button")
    ]
    assert len(used) > 40 and [role for role, name in used if not name.strip()] == []
    assert ("slider", "gather: size") in used
    spoken = f"document.querySelector({json.dumps(slider('gather: size'))}).ariaValueText"
    assert tab.evaluate(spoken) == "896 MiB"
    assert tab.evaluate("document.documentElement.lang") == "en-US"
    assert tab.evaluate("document.querySelector('.timeline svg').getAttribute('aria-label')")


def test_light_and_dark(browser: Page, link: str):
    papers = {}
    for dark in (False, True):
        open_lab(browser, link, dark=dark)
        paper = "getComputedStyle(document.body).backgroundColor"
        papers[dark] = browser.evaluate(paper)
        browser.click(".theme")
        assert browser.evaluate(paper) != papers[dark]
        assert (
            browser.evaluate("document.querySelector('.theme').ariaPressed")
            == str(not dark).lower()
        )
        browser.evaluate("localStorage.clear()")
    assert papers[False] != papers[True]
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [360, pytest.param(1900, marks=pytest.mark.long)])
def test_it_never_scrolls_sideways(browser: Page, link: str, width: int):
    open_lab(browser, link, width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.complaints() == []


def test_a_wrong_token_is_refused(browser: Page, link: str):
    """In a browser that knows no cookie of it."""
    browser.call("Network.clearBrowserCookies")
    for wrong in (link.split("?")[0], re.sub("token=[^&]*", "token=wrong", link)):
        browser.visit(wrong)
        assert "403" in text(browser, "body") and "c3sim lab printed" in text(browser, "body")
    browser.visit(link)
    browser.wait_for(WALL, PATIENT)


def test_a_lesson_of_the_menu_shows_its_run(tab):
    tab.evaluate(
        "(() => { const list = [...document.querySelectorAll('select')].find((each) =>"
        " [...each.options].some((one) => one.text.startsWith('10 ')));"
        " list.value = [...list.options].find((one) => one.text.startsWith('6 ')).value;"
        " list.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    tab.wait_for(f"({COMMAND}).includes('gemm-alone')", PATIENT)
    assert "--set stream.compute.compute_units=303" in tab.evaluate(COMMAND)
    chosen = "[...document.querySelectorAll('select')].map((each) => each.selectedOptions[0].text)"
    assert "6 Tails" in tab.evaluate(chosen)
