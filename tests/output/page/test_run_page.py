"""The page of one run of a step: its bar, its rows, and parts of the time seen closer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from browser import Page

from c3sim.errors import InputError
from c3sim.output.page import write_run
from c3sim.output.page.timeline import compact_run
from c3sim.result import Result

TICKS = "[...document.querySelectorAll('svg .axis + text')].map((each) => each.textContent)"


@pytest.fixture
def step(result: Result) -> Result:
    """The GEMM called attention, so the run is one of a step; the gather ends a ms after it."""
    tasks = dict(result.tasks)
    tasks["gemm"] = replace(tasks["gemm"], detail={"operator": "attention"}, end_s=2e-3)
    tasks["gather"] = replace(tasks["gather"], end_s=3e-3)
    return replace(result, tasks=tasks)


def test_a_step_has_its_parts_and_where_communication_is_exposed(step: Result):
    run = compact_run(step)
    assert run["kinds"] == ["communication", "attention"]
    assert run["step"]["parts"] == [["attention", 1, 2000000], ["communication alone", 0, 1000000]]
    assert run["step"]["alone"] == [[2000000, 3000000]]


def test_another_run_has_no_parts(result: Result):
    assert compact_run(result)["step"] is None


def test_a_page_goes_into_an_html_file(step: Result, tmp_path: Path):
    with pytest.raises(InputError, match="html"):
        write_run(step, tmp_path / "page.txt")
    write_run(step, tmp_path / "page.html")
    assert "communication alone" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_keys_buttons_and_drags_choose_what_is_drawn(step: Result, browser: Page, tmp_path: Path):
    """The run takes 3 ms: + shows the 1.5 ms in the middle, 0 all of it again; a drag over the
    right half shows that."""
    write_run(step, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    whole = browser.evaluate(TICKS)
    assert whole[0] == "0" and float(whole[-1]) == 3
    browser.click("button[aria-label=closer]")
    ticks = [float(each) for each in browser.evaluate(TICKS)]
    assert min(ticks) >= 0.75 and max(ticks) <= 2.25
    browser.click("button[aria-label='the whole time']")
    assert browser.evaluate(TICKS) == whole
    box = browser.evaluate(
        "(() => { document.querySelector('svg').scrollIntoView({block: 'start'});"
        " const b = document.querySelector('svg').getBoundingClientRect();"
        " return [b.left, b.top, b.width]; })()"
    )
    left, right = box[0] + box[2] * (134 + 538 / 2) / 680, box[0] + box[2] * 0.98
    for kind, x in (("mousePressed", left), ("mouseMoved", right), ("mouseReleased", right)):
        browser.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=box[1] + 90,
            button="left",
            buttons=1,
            clickCount=1,
        )
    browser.settle()
    assert min(float(each) for each in browser.evaluate(TICKS)) >= 1.49
    assert browser.complaints() == []
    assert all(address.startswith("file:") for address in browser.requests())
