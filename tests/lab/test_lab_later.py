"""Work that takes longer than a move of a slider, in a real browser: iterations, traces, no
network.
"""

import json

import pytest
from browser import Page
from kineto_case import MadeTrace
from lab_page import (
    COMMAND,
    PAIR,
    PATIENT,
    WALL,
    choose,
    open_lab,
    shown,
    slider,
    text,
    value_of,
    wall,
    write,
)

import c3sim
from c3sim.lab import runs
from c3sim.lab.choice import Choice

ENDS = ("com", "net", "org", "io", "dev")  # of names elsewhere


pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]


LOOKED = """(() => { window.seen = [];
  const begun = performance.now();
  const desk = document.querySelector('[data-part=desk]');
  const old = desk.querySelector('.timeline svg');
  const row = (each) => [each.dataset.figure, each.querySelector('.now').textContent];
  new MutationObserver(() => {
    const picture = desk.querySelector('.timeline svg');
    window.seen.push({ at: performance.now() - begun, busy: desk.ariaBusy,
      fresh: picture !== null && picture !== old,
      cells: Object.fromEntries([...desk.querySelectorAll('[data-figure]')].map(row)),
      coming: desk.textContent.includes('are being computed'), texts: picture?.textContent ?? '',
      said: document.querySelector('[data-part=said]').textContent });
  }).observe(desk, { childList: true }); })()"""


def test_a_first_look_comes_before_the_rest_and_is_said_to_be_one(browser: Page, link: str):
    """First of a step: about its wall time, what ran when, nothing of the run before; then all:
    where the step went and, on demand, what resources were used for.
    """
    went = "Where the step went"
    name = "llama3-8b-forward"
    browser.visit(link.replace(PAIR, name), again=True)
    whole = "document.querySelector('[data-figure=speedup] .now')?.textContent.endsWith('x')"
    browser.wait_for(whole, PATIENT)
    browser.evaluate(LOOKED)
    write(browser, value_of("Iteration: tokens"), "2048")
    same = c3sim.run(name, set={"tokens": 2048})
    browser.wait_for(f"({WALL}) === {json.dumps(shown(same))}", PATIENT)
    seen = browser.evaluate("window.seen")  # on a busy machine "running" comes first
    assert not any(each["texts"] for each in seen if each["said"] == "running")
    first, *_, last = (each for each in seen if each["cells"])
    assert (
        first["busy"] == "true" and first["coming"] and first["said"].startswith("wall time about")
    )
    assert first["cells"].pop("wall_s").startswith("about ")
    assert set(first["cells"].values()) == {"\u2026"}
    assert first["fresh"] and first["texts"] and went not in first["texts"]
    assert last["busy"] == "false" and not last["coming"] and went in last["texts"]
    assert "HBM" not in last["texts"]
    browser.evaluate(
        "[...document.querySelectorAll('.timeline button')]"
        ".find((each) => each.textContent === 'resources').click()"
    )
    browser.wait_for("document.querySelector('.timeline svg').textContent.includes('HBM')", PATIENT)
    assert "about" not in last["cells"]["wall_s"] + last["said"]
    whole = next(each for each in seen if each["cells"].get("speedup", "").endswith("x"))
    assert first["at"] < 0.6 * whole["at"]  # a fifth of the work; some of both is not simulating


COMMANDS = f"""(() => {{ window.seen = [];
  new MutationObserver(() => window.seen.push({COMMAND})).observe(
    document.querySelector('[data-part=desk]'), {{ childList: true }}); }})()"""


def test_places_that_a_hand_leaves_behind_do_not_queue_up(browser: Page, link: str):
    """Forty places of a step in two seconds, of which each takes as long as that to be run whole:
    the last one is shown once the hand rests, most of the others never.
    """
    name, path = "llama3-8b-training", "gpu.hbm.bandwidth"
    knob = next(each for each in runs.knobs(Choice(workload=name)) if each.path == path)
    last, (odd, even) = 5, (3, 9)
    browser.visit(link.replace(PAIR, name), again=True)
    browser.wait_for(WALL, PATIENT)
    browser.evaluate(COMMANDS)
    slid = json.dumps(slider("Machine: HBM bandwidth"))
    browser.evaluate(
        f"(async () => {{ const slid = document.querySelector({slid});"
        " for (let step = 0; step < 40; step++) {"
        f" slid.value = step === 39 ? {last} : step % 2 ? {odd} : {even};"
        " slid.dispatchEvent(new Event('input', {bubbles: true}));"
        " await new Promise((done) => setTimeout(done, 50)); } })()"
    )
    written = knob.text(knob.values[last])
    browser.wait_for(f"({COMMAND}).includes({json.dumps(written)})", PATIENT)
    between = [knob.text(knob.values[place]) for place in (odd, even)]
    left = [each for each in browser.evaluate("window.seen") if any(map(each.count, between))]
    assert len(left) < 20  # some of them, while they were new; a busy machine shows fewer


def test_a_trace_is_opened_from_the_page(browser: Page, start, link: str, tmp_path):
    """It needs a machine; then it is written beside, as on the command line, and shown."""
    (tmp_path / "made.json").write_text(MadeTrace.short().text(), encoding="utf-8")
    browser.visit(link, again=True)
    browser.wait_for(WALL, PATIENT)
    write(browser, "[placeholder='my.yaml, or a trace']", str(tmp_path / "made.json"))
    browser.wait_for("document.querySelector('[role=alert]')", PATIENT)
    assert "needs the machine" in text(browser, "[role=alert]")
    choose(browser, "machine", "h200-2")
    browser.wait_for(f"{COMMAND}.includes('--node h200-2')", PATIENT)
    write(browser, "[placeholder='my.yaml, or a trace']", str(tmp_path / "made.json"))
    browser.wait_for(f"{COMMAND}.includes('made.yaml')", PATIENT)
    written = start.folder / "made.yaml"
    wall_s = c3sim.run(written, node="h200-2").wall_s
    assert wall(browser) == f"{1e6 * wall_s:.3f} us"
    written.unlink()


def test_nothing_is_asked_of_a_network(tab: Page, link: str):
    """All hosts but this computer blocked, the page is whole: style, script, run, picture."""
    tab.call("Network.setBlockedURLs", urls=["https://*", *(f"http://*.{end}/*" for end in ENDS)])
    open_lab(tab, link)
    assert tab.evaluate("getComputedStyle(document.querySelector('.lab')).display") == "grid"
    refused = [e for e in tab.events if e.get("method") == "Network.loadingFailed"]
    tab.call("Network.setBlockedURLs", urls=[])
    assert refused == []
