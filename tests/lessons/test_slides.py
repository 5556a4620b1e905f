"""Slides are built from what the lessons say and draw."""

import runpy

import pytest
from places import ROOT

pytestmark = pytest.mark.turns(5)

TOOL = ROOT / "tools" / "slides.py"
SLIDES = runpy.run_path(str(TOOL))
LESSONS = SLIDES["lessons"]()


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_slide_has_the_question_and_the_reasons_without_marks(path):
    text = path.read_text(encoding="utf-8")
    question, why = SLIDES["section"](text, "Question"), SLIDES["reasons"](text)
    assert question.count("?") >= 1 and len(SLIDES["wrapped"](question).splitlines()) <= 7
    assert why.startswith("- ") and len(SLIDES["wrapped"](why).splitlines()) <= 17
    assert not set("*`#") & set(question + why)


def test_a_lesson_becomes_a_question_its_pictures_the_reason_measurements_and_an_exercise(tmp_path):
    lesson = LESSONS[5]
    SLIDES["build"].__globals__["lessons"] = lambda: [lesson]
    shown, told, exercise = SLIDES["drawn"](lesson)
    assert "measured" in told[0] and exercise.endswith("(Pencil and paper.)")
    out = tmp_path / "slides.pdf"
    assert SLIDES["build"](out) == 1 + len(shown) + 1 + len(SLIDES["measured"](told)) + 1
    assert out.read_bytes().startswith(b"%PDF") and list(tmp_path.iterdir()) == [out]
