"""Results show themselves, workloads are made in Python, and sizes are numbers of bytes there."""

import pickle
from html.parser import HTMLParser
from itertools import pairwise

import pytest

import c3sim
from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.comparison import Comparison
from c3sim.kit import progress

pytestmark = pytest.mark.turns(5)

PAIR = "gemm-beside-all-gather"
MADE = {
    "gemm": c3sim.gemm(8192, 8192, 8192, stream="compute"),
    "gather": c3sim.collective("all_gather", 896 * 2**20, stream="communication"),
}
STUDY = """\
schema: 1
name: s
node: teaching-4
workload: gemm-beside-all-gather
strategies: [base, conccl]
axes: {links.bandwidth: [5 GB/s, 10 GB/s]}
"""


class Elements(HTMLParser):
    """Counts the elements of a text, and holds that each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_result_shows_summary_timeline_and_causes():
    result = c3sim.run(PAIR, strategy="sp")
    html = result._repr_html_()
    found = Elements(html).found
    assert f"wall {1e3 * result.wall_s:.3f} ms" in html and result.trust[:20] in html
    assert found.count("img") == 1 and f'alt="timeline of {PAIR}"' in html
    slowdown = c3sim.explain(PAIR, strategy="sp").tasks["gather"].slowdown
    assert f"= together with the others ({slowdown:.2f}x)" in html


def test_what_a_name_holds_is_no_markup():
    html = c3sim.run({"name": "<b>[bold]x[/bold]", "tasks": MADE})._repr_html_()
    assert "&lt;b&gt;[bold]x[/bold]" in html and "<b>[bold]" not in html


@pytest.fixture(scope="module")
def of_training():
    return c3sim.explain("dlrm-training", node="teaching-4")


def test_comparisons_explanations_and_iterations_show_themselves(of_training):
    for shown, words in (
        (c3sim.compare(PAIR, strategies="base,sp"), "fastest: sp"),
        (c3sim.explain(PAIR), "where the time went"),
        (of_training, "nothing shared"),
        (c3sim.run("llama3-70b-decode", set={"layers": 2}), "operator class"),
    ):
        html = shown._repr_html_()
        assert words in html and "table" in Elements(html).found


def test_sweeps_and_studies_show_themselves_and_are_frames(tmp_path):
    (tmp_path / "s.yaml").write_text(STUDY, encoding="utf-8")
    swept = c3sim.sweep(tmp_path / "s.yaml", tmp_path / "out", jobs=1)
    assert "4 points, 0 failed" in swept._repr_html_()
    assert swept.plot(kind="lines")[0].get_xlabel().startswith("links bandwidth")
    studied = c3sim.study(tmp_path / "s.yaml", n_jobs=1)
    frame = studied.to_frame()
    assert len(frame) == 4 and set(frame["strategy"]) == {"base", "conccl"}
    assert "<table>" in studied._repr_html_()
    with pytest.raises(InputError, match="has no picture"):
        studied.plot()


def test_plots_are_axes():
    result = c3sim.run(PAIR)
    assert result.trace is None  # it is run once more for its picture
    drawn = result.plot()
    panels = [axes.get_title(loc="left") for axes in drawn]
    assert "HBM bandwidth" in panels
    assert [axes.get_title(loc="left") for axes in result.timeline()] == panels
    with pytest.raises(InputError, match="'gpu1' was not recorded"):  # it does what gpu0 does
        result.timeline("gpu1")
    assert drawn.figure is drawn[0].figure and "<img" in drawn._repr_html_()
    (axes,) = c3sim.compare(PAIR, strategies="base,sp").plot()
    walls = [bar.get_width() for bar in axes.patches]
    assert walls[0] == pytest.approx(1e3 * c3sim.run(PAIR, strategy="base").wall_s)
    with pytest.raises(InputError, match=r"its figures: \.to_frame"):
        Comparison().plot()


def test_causes_are_bars_that_lead_to_the_whole():
    """Each begins where the one before ended; the last is as long as all of them reach."""
    explanation = c3sim.explain(PAIR, strategy="sp")
    for axes, task in zip(explanation.plot(), explanation.tasks.values(), strict=True):
        *parts, whole = axes.patches
        for before, after in pairwise(parts):
            assert after.get_x() == pytest.approx(before.get_x() + before.get_width())
        reached = parts[-1].get_x() + parts[-1].get_width()
        assert reached == pytest.approx(whole.get_width(), rel=0.01)  # less what is not felt
        assert whole.get_width() == pytest.approx(1e3 * task.time_s)


def test_an_iteration_has_a_frame_of_its_classes():
    result = c3sim.run("llama3-70b-decode", set={"layers": 2})
    frame = result.classes_frame().set_index("class")
    assert frame.loc["gemm", "busy_s"] == result.overlap.classes["gemm"].busy_s
    assert len(repr(result).splitlines()) == 3  # not one of all of its fields


def test_an_iteration_is_explained_by_its_parts(of_training):
    """Tables, picture and frame are of the whole; rows of a part add up to it."""
    explanation = of_training
    assert "wall" in repr(explanation) and "exposed" in repr(explanation)
    frame = explanation.to_frame().set_index(["part", "what"])["seconds"]
    assert frame["wall"].drop("together").sum() == pytest.approx(explanation.wall_s)
    first = explanation.plot()[0]
    assert first.get_title(loc="left") == "wall"
    *_, whole = first.patches
    assert whole.get_width() == pytest.approx(1e3 * explanation.wall_s)


def test_a_result_can_be_kept():
    result = c3sim.run(PAIR)
    again = pickle.loads(pickle.dumps(result))
    assert again == result and again.again.traced().wall_s == result.wall_s
    assert "again" not in result.to_dict()


def test_a_workload_made_in_python_is_that_of_the_file():
    file = c3sim.run(PAIR)
    for made in (c3sim.Workload(MADE), {"tasks": MADE}):
        assert c3sim.run(made).wall_s == file.wall_s
    assert c3sim.explain({"tasks": MADE}).wall_s == file.wall_s
    assert c3sim.compare({"tasks": MADE}, strategies="sp")[0].speedup > file.speedup
    copies = {"there": c3sim.copy(2**20, engines=2), "held": c3sim.hold(4, "10 us")}
    assert set(c3sim.run(c3sim.Workload(copies, node="teaching-4")).tasks) == {"there", "held"}
    assert c3sim.run({"tasks": {"read": c3sim.stream_kernel(2**26, pattern="read")}}).wall_s > 0


def test_mistakes_are_those_of_a_file(tmp_path):
    wrong = {"gemm": c3sim.gemm(8192, 0, 8192, dtyp="bf16"), "x": {"kind": "gemn"}}
    with pytest.raises(InputErrors) as made:
        c3sim.Workload(wrong)
    texts = [str(error) for error in made.value.errors]
    assert "tasks.gemm: unknown field 'dtyp'; did you mean 'dtype'?" in texts
    (tmp_path / "wrong.yaml").write_text(
        "schema: 1\nname: w\ntasks:\n  gemm: {kind: gemm, m: 8192, n: 0, k: 8192, dtyp: bf16}\n"
        "  x: {kind: gemn}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputErrors) as written:
        c3sim.run(tmp_path / "wrong.yaml")
    of_file = sorted(error.message for error in written.value.errors)
    assert of_file == sorted(error.message for error in made.value.errors) and len(of_file) == 3
    with pytest.raises(InputErrors):
        c3sim.run({"tasks": wrong})


def test_an_iteration_may_be_a_mapping():
    fields = {"kind": "iteration", "node": "h200-8", "model": "llama-3-8b", "phase": "prefill"}
    short = c3sim.run({**fields, "tokens": 256, "layers": 2, "parallel": {"kind": "tensor"}})
    assert short.workload == "iteration" and short.tokens_per_s > 0


def test_sizes_are_numbers_of_bytes():
    number = c3sim.run(PAIR, set={"task.gather.size": 64 * 2**20})
    assert number.wall_s == c3sim.run(PAIR, set={"task.gather.size": "64 MiB"}).wall_s
    with pytest.raises(InputError, match="MiB"):  # so few were meant as MiB
        c3sim.run(PAIR, set={"task.gather.size": 64})
    with pytest.raises(InputError, match="unit"):  # other quantities have no obvious one
        c3sim.run(PAIR, set={"links.bandwidth": 48})


def test_a_bar_is_for_notebooks(monkeypatch):
    asked = []

    def bar():
        asked.append(1)
        return progress.progress()

    with progress.heard(None, bar) as watcher:
        assert watcher is None
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    with progress.heard(None, bar) as watcher:
        watcher("points", 1, 2)
    with progress.heard(print, bar) as watcher:
        assert watcher is print
    assert asked == [1]
