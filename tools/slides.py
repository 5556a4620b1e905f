"""Builds slides for a lecture from the lessons: of each its question, every picture that it draws,
why, what was measured, and the exercise.

python tools/slides.py [slides.pdf]
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.image import imread

LESSONS = Path(__file__).parents[1] / "lessons"
PAGE = (12.8, 7.2)  # inches: 16 to 9
INK, GREY = "#222222", "#888888"
COLUMNS = 76  # of a line of text
LINES = 26  # of a slide of measurements


def lessons() -> list[Path]:
    return sorted(LESSONS.glob("[0-9][0-9]_*.py"))


def title(text: str) -> str:
    """The first heading of a lesson."""
    return text.splitlines()[1].removeprefix("# # ")


def section(text: str, name: str) -> str:
    """The text below the heading *name* of a lesson, up to the next cell; without its marks."""
    found = re.search(rf"^# ## {name}\n#\n((?:#.*\n)+)", text, re.MULTILINE)
    assert found, f"no section {name}"
    lines = (line.removeprefix("#").removeprefix(" ") for line in found[1].splitlines())
    return re.sub(r"[*`]", "", "\n".join(lines)).strip()


def reasons(text: str) -> str:
    """The items under *Why*, without what leads to a further picture."""
    return section(text, "Why").split("\n\n")[0]


def drawn(lesson: Path) -> tuple[list[tuple[Figure, str]], list[str], str]:
    """The pictures that the lesson draws, each with what it shows; what it says was measured; the
    question of its exercise. It is run somewhere else.
    """
    sys.path.insert(0, str(LESSONS))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(io.StringIO()):
            made: Any = runpy.run_path(str(lesson))
        from exercises import EXERCISES

        told = made["lesson"]
        return told.shown, told.told, EXERCISES[told.number].question


def words(heading: str, body: str, size: float) -> Figure:
    """A slide of text: paragraphs and items."""
    figure = Figure(figsize=PAGE)
    figure.text(0.06, 0.88, heading, fontsize=24, weight="bold", color=INK, va="top")
    figure.text(0.06, 0.76, wrapped(body), fontsize=size, color=INK, va="top", linespacing=1.45)
    return figure


def measured(told: list[str]) -> list[Figure]:
    """Slides of measurements beside the model, as many texts on one as fit."""
    pages: list[list[str]] = []
    for text in told:
        lines = ["", *text.split("\n")]
        if not pages or len(pages[-1]) + len(lines) > LINES:
            pages.append([])
        pages[-1] += lines
    slides = []
    for page in pages:
        slides.append(words("Measured", "", 22))
        how = {"fontsize": 14, "family": "monospace", "color": INK, "va": "top"}
        slides[-1].text(0.06, 0.84, "\n".join(page), **how)
    return slides


def wrapped(body: str) -> str:
    """Paragraphs and items of *body*, each filled anew."""
    parts = re.split(r"\n\s*\n|\n(?=- )", body)
    return "\n".join(
        textwrap.fill(" ".join(part.split()), COLUMNS, subsequent_indent="  " * (part[:2] == "- "))
        for part in parts
    )


def picture(figure: Figure, says: str) -> Figure:
    """A slide of a picture, as large as fits, and below it what it shows.

    Of one that is higher than wide the upper part: of a timeline tasks and compute units.
    """
    width, height = figure.get_size_inches()
    room = PAGE[0] - 1, PAGE[1] - 1.3
    scale = room[0] / width if height > width else min(room[0] / width, room[1] / height)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120 * scale, facecolor="white")
    buffer.seek(0)
    drawn = imread(buffer)[: int(120 * room[1])]
    slide = Figure(figsize=PAGE)
    wide, high = width * scale / PAGE[0], drawn.shape[0] / 120 / PAGE[1]
    axes = slide.add_axes(((1 - wide) / 2, 0.97 - high, wide, high))
    axes.imshow(drawn, interpolation="lanczos", aspect="auto")
    axes.set_axis_off()
    slide.text(0.5, 0.05, says, fontsize=17, color=INK, ha="center", va="bottom")
    return slide


def build(out: Path) -> int:
    """Writes *out*; how many slides it has."""
    count = 0
    with PdfPages(out, metadata={"Title": "C3 in an afternoon", "CreationDate": None}) as pdf:
        for lesson in lessons():
            text = lesson.read_text(encoding="utf-8")
            shown, told, exercise = drawn(lesson)
            slides = [words(title(text), section(text, "Question"), 22)]
            slides += [picture(*each) for each in shown]
            slides += [words("Why", reasons(text), 18), *measured(told)]
            slides.append(words("Exercise", exercise, 22))
            for slide in slides:
                count += 1
                slide.text(0.97, 0.03, str(count), fontsize=10, color=GREY, ha="right")
                pdf.savefig(slide)
    return count


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "slides.pdf")
    count = build(out)
    print(f"wrote {out}: {count} slides, {os.path.getsize(out) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
