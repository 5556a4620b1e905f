"""The planted mutations of mutations.yaml fit the tree, and what they name is there. CI applies
each (tools/mutations.py).
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from types import ModuleType

import pytest
from places import ROOT

from c3sim.validation.compare.bounds import load_bounds


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutations", ROOT / "tools" / "mutations.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()
ENTRIES = tool.mutations()
SUITES = {*load_bounds().suites}
every_mutation = pytest.mark.parametrize("mutation", ENTRIES, ids=lambda each: each.name)


def test_there_are_twenty_five_of_different_names():
    assert len({each.name for each in ENTRIES}) == len(ENTRIES) >= 25


@every_mutation
def test_it_can_be_applied_and_changes_what_the_code_does(mutation):
    """Each text to find is in its file once, and the file is Python before and after. Code that was
    moved takes its entry along: change ``file`` and ``find``.
    """
    sources = mutation.sources()
    assert sources
    for file, text in sources.items():
        compile(text, file, "exec")
        before = ast.dump(ast.parse((ROOT / file).read_text("utf-8")))
        assert ast.dump(ast.parse(text)) != before, f"{file} does the same as before"


@every_mutation
def test_what_notices_it_is_there(mutation):
    """A test that fails with it; where a machine was measured, suites with golden figures; where
    none was, the reason.
    """
    assert mutation.tests
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), test
    assert set(mutation.bounds) <= SUITES
    golden = {path.stem for path in (ROOT / "tests" / "golden" / "suites").glob("*.parquet")}
    assert {*mutation.bounds, *mutation.figures} <= golden
    assert bool(mutation.figures) != bool(mutation.unmeasured)


def test_the_page_is_fresh():
    """If not: python tools/mutations.py --page."""
    assert tool.page(ENTRIES) == (ROOT / "docs" / "mutations.md").read_text("utf-8")


def test_an_edit_finds_its_text_once_or_is_refused():
    edit = tool.Edit("a.py", "x = 1", "x = 2")
    assert edit.applied("x = 1\ny = 1\n") == "x = 2\ny = 1\n"
    for text in ("y = 1\n", "x = 1\nx = 1\n"):
        with pytest.raises(ValueError, match=r"a\.py: [02] times"):
            edit.applied(text)


def test_a_mutation_is_in_its_copy_alone():
    """There c3sim and the packages beside it are those of the copy; the tree keeps its files."""
    edit = tool.Edit("c3sim/models/links.py", "def link_to(", "PLANTED = 1\n\n\ndef link_to(")
    before = (ROOT / edit.file).read_bytes()
    code = "import c3sim.models.links as a, c3sim.hwmodels as b; print(a.PLANTED, *b.__path__)"
    with tool.mutated(tool.Mutation("planted", "", (edit,))) as copy:
        done = tool.python(copy, "-c", code)
        assert done.stdout.split() == ["1", str(copy / "c3sim" / "hwmodels")], done.stderr
    assert (ROOT / edit.file).read_bytes() == before and not copy.exists()


def test_a_test_fails_where_one_of_its_cases_does():
    failed = ["tests/test_a.py::test_b[1]", "tests/test_a.py::test_cd"]
    names = ("test_b", "test_cd", "test_c", "test_d")
    assert [tool.fails(f"tests/test_a.py::{each}", failed) for each in names] == [
        True,
        True,
        False,
        False,
    ]


def test_figures_that_moved_or_are_lost_count():
    """By 1e-9 of their value: less is rounding."""
    old = tool.Judged({("a", "1"): 2.0, ("b", "1"): 2.0, ("c", "1"): 2.0, ("d", "1"): 0.0}, set())
    new = tool.Judged({("a", "1"): 2.0 + 1e-9, ("b", "1"): 2.1, ("d", "1"): 0.0}, set())
    assert old.moved(new) == {"b", "c"}
