"""The pictures of the glossary and of the node: all are drawn, all are shown, and small."""

import re
import sys

from places import ROOT

DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tools"))

import book_pictures  # noqa: E402

sys.path.remove(str(ROOT / "tools"))  # tools/coverage.py is not what numba imports as coverage

MOST_BYTES = 1_500_000


def shown(page: str) -> list[str]:
    return re.findall(r"!\[.+\]\(img/book/(.+)\.png\)", (DOCS / page).read_text(encoding="utf-8"))


def test_every_picture_is_drawn_and_shown():
    files = {path.stem: path.stat().st_size for path in book_pictures.OUT.glob("*.png")}
    assert set(files) == set(book_pictures.DRAWINGS)
    assert set(files) == {*shown("glossary.md"), *shown("eight-pictures.md")}
    assert sum(files.values()) < MOST_BYTES
    assert len(shown("eight-pictures.md")) == 8


def test_every_word_of_the_glossary_has_a_picture():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    words = text.split("\n## ")[1:]
    assert len(words) >= 15
    assert [word.splitlines()[0] for word in words if "![" not in word] == []
    titles = [word.splitlines()[0].lower() for word in words]
    assert titles == sorted(titles)


def test_the_picture_of_waiting_shows_the_wait():
    """Thin line from the release to the first channel, then the bar. 1152 tiles on 304 units:
    three of four rounds of 1.91 ms are 1.43; the last, of 240, is quicker, so 1.5. Then 2.8 ms.
    """
    bars = book_pictures.room().patches
    assert [round(bar.get_width(), 1) for bar in bars] == [1.9, 2.8, 1.5]
