"""The report in a real browser, in light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import Page, chromium, find_chromium
from made_records import pair

from c3sim.validation.compare.record_files import PACKAGED, load, nodes_for
from c3sim.validation.compare.verdict import validate
from c3sim.validation.pages import render, write_report

pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]


@pytest.fixture(scope="module")
def verdict():
    """The verdict on some published records: GEMMs, streams, collectives, pairs."""
    of = PACKAGED / "published" / "mi300x"
    names = ("babelstream", "gemm_square", "rccl_channels", "c3_channels")
    records = load([of / f"{name}.jsonl" for name in names])
    return validate(records, nodes_for(records))


@pytest.fixture(scope="module")
def page(verdict, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(verdict, path)
    return path


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    executable = find_chromium()
    if executable is None:
        pytest.skip(
            "no Chromium found; install one (apt-get install chromium) or set CHROMIUM to its path"
        )
    with chromium(executable, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


SIZES = """[...document.querySelectorAll("svg")].map((each) => {
  const box = each.getBoundingClientRect();
  return {name: each.getAttribute("aria-label"), width: box.width, height: box.height,
    shapes: each.childElementCount};
})"""
#: Contrast of text with the page behind it, WCAG 2: at least 4.5 for normal text.
CONTRAST = """(() => {
  const light = (text) => { const [r, g, b] = text.match(/[0-9.]+/g).slice(0, 3).map((each) => {
    const share = each / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const all = "h1, p, td, th, a, .verdict, .good, .gap, figcaption";
  return [...document.querySelectorAll(all)].map((each) => {
    const ink = light(getComputedStyle(each).color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  }).reduce((a, b) => Math.min(a, b));
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_in_a_browser_nothing_complains_and_every_figure_shows(
    tab: Page, page: Path, verdict, dark: bool
):
    tab.open(page, dark=dark)
    assert tab.complaints() == []
    assert [url for url in tab.requests() if not url.startswith(("file:", "data:"))] == []
    figures = tab.evaluate(SIZES)
    suites = {score.suite for score in verdict.scores}
    assert len(figures) > 3 * len(suites)
    assert [f for f in figures if f["width"] < 10 or f["height"] < 8 or not f["shapes"]] == []
    named = {figure["name"] for figure in figures}
    assert all(f"errors of {suite}" in named for suite in suites)
    assert tab.evaluate(CONTRAST) >= 4.5
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is not dark


def test_the_verdict_is_on_the_first_screen(tab: Page, page: Path):
    tab.open(page)
    assert tab.evaluate("document.querySelector('.verdict').textContent") == "PASS"
    assert tab.evaluate("document.querySelector('#totals').getBoundingClientRect().bottom") < 700
    assert tab.evaluate("document.querySelector('#suites').getBoundingClientRect().top") < 900


@pytest.mark.parametrize("width", [420, 1280])
def test_the_page_itself_never_scrolls_sideways(tab: Page, page: Path, width: int):
    tab.open(page, width=width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_parameters_can_be_filtered(tab: Page, page: Path):
    tab.open(page)
    type_in = (
        'const f = document.getElementById("filter"); f.value = "HBM estimate"; '
        'f.dispatchEvent(new Event("input"));'
    )
    tab.evaluate(f"(() => {{ {type_in} }})()")
    shown = tab.evaluate(
        '[...document.querySelectorAll("#parameters tbody tr")].filter((r) => '
        "!r.hidden).map((r) => r.textContent)"
    )
    assert shown and all("hbm" in each.lower() and "estimate" in each.lower() for each in shown)
    assert tab.evaluate('document.getElementById("count").textContent').startswith(
        f"{len(shown)} of "
    )


def test_the_page_is_self_contained_and_the_same_each_time(verdict, page: Path):
    text = page.read_text(encoding="utf-8")
    assert render(verdict) == text
    assert not re.search(r'(src|href)="(?!#|data:|https?://)', text)
    assert (
        not re.search(r"<(script|img|link)[^>]+(src|href)=\"https?:", text)
        and "@import" not in text
    )


def test_every_parameter_has_a_row(verdict, page: Path):
    text = page.read_text(encoding="utf-8")
    for path in verdict.nodes["mi300x-8"].provenance:
        assert f"<code>{path}</code>" in text


def test_names_from_records_are_text_not_markup():
    records = [pair(250, 800, (400, 900), name='<script>alert(1)</script> & "quotes"')]
    text = render(validate(records, nodes_for(records), jobs=1))
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
