"""The pages of docs/ hang together: links lead somewhere, generated pages are fresh, decisions are
numbered. CI builds the site with warnings as errors.
"""

import re
import runpy

import pytest
from places import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WITH_LINKS = [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("*/README.md")]


def test_links_lead_to_files():
    broken = []
    for page in WITH_LINKS:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path = target.split("#")[0]
            if "://" not in target and path and not (page.parent / path).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_anchors_are_headings():
    """A link to ``page.md#some-heading`` names a heading of that page."""
    broken = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for path, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text):
            headings = re.findall(
                r"^#+ (.*)$",
                (page.parent / path if path else page).read_text(encoding="utf-8"),
                re.MULTILINE,
            )
            names = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
            if "://" not in path and anchor not in names:
                broken.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    assert broken == []


#: Its answers are runs of steps, which lessons compute in their tests too.
EXAM = pytest.param("docs/exam.md", marks=pytest.mark.long)


@pytest.mark.parametrize("name", ["docs/commands.md", "docs/gallery.md", EXAM])
def test_generated_pages_are_fresh(name):
    """If not: python tools/reference_pages.py."""
    pages = runpy.run_path(str(ROOT / "tools" / "reference_pages.py"))["PAGES"]
    assert pages[name]() == (ROOT / name).read_text(encoding="utf-8")


def test_numbers_by_hand_have_a_date():
    """If not: check them, then python tools/hand_numbers.py."""
    tool = runpy.run_path(str(ROOT / "tools" / "hand_numbers.py"))
    assert list(tool["unmarked"]()) == []
    assert tool["digest"]("takes 3 ms\n") not in ("", tool["digest"]("takes 4 ms\n"))


def test_decisions_are_numbered_pages_of_at_most_sixty_lines():
    pages = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    assert [int(page.name[:3]) for page in pages] == list(range(1, len(pages) + 1))
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(page.name[:3])}. ") and len(text.splitlines()) <= 60
        assert f"]({page.name})" in index


def test_the_page_on_sweeps_draws_as_many_parameters_as_the_machine_has():
    """A new interval in the node file makes the bands shown there old."""
    from c3sim.experiments.bands import parameters_of
    from c3sim.spec.reading.loading import load_hardware

    text = (DOCS / "sweeps.md").read_text(encoding="utf-8")
    said = {int(each) for each in re.findall(r"of (\d+) parameters", text)}
    assert said == {len(parameters_of(load_hardware("mi300x-8")))}
