"""Planted mutations: is it noticed when a mechanism is lost?

    python tools/mutations.py                  the named tests of every mutation, which have to fail
    python tools/mutations.py --only packet    those with that word in their name
    python tools/mutations.py --turns 3        a third of them, another with each commit
    python tools/mutations.py --measured       `c3sim validate` as well: minutes for each
    python tools/mutations.py --all            and all quick tests: hours
    python tools/mutations.py --page           write docs/mutations.md; --check: is it fresh?

tests/mutations.yaml lists them. Each is applied to a copy of the tree; the tree itself is not
touched. First of all the named tests have to pass in a copy without a mutation. Exit code 1 where
one of them, a bound or a figure that an entry names does not notice.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from turns import turn_of_commit  # noqa: E402

ENTRIES = ROOT / "tests" / "mutations.yaml"
PAGE = ROOT / "docs" / "mutations.md"
COPIED = ("c3sim", "tests")  # beside the folders of mutated files; others are links
REL = 1e-9  # how far two figures may be apart that did not move
PASSED, FAILED = 0, 1  # exit codes of pytest; others: it did not run them
SHOWN = 10  # names that are printed of those that notice beside the named ones
WITHOUT_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # half of the time of a few tests
#: Tests that would fail on any patch of a file.
ABOUT_THE_TREE = ("tests/test_mutations.py",)


class Edit(NamedTuple):
    """*find*, which *file* has once, becomes *replace*."""

    file: str
    find: str
    replace: str

    def applied(self, text: str) -> str:
        """*text* of the file with the edit. Raises ValueError where *find* is not there once."""
        count = text.count(self.find)
        if count != 1:
            raise ValueError(f"{self.file}: {count} times, not once: {self.find}")
        return text.replace(self.find, self.replace)


class Mutation(NamedTuple):
    name: str
    breaks: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...] = ()  # node ids that fail with it
    bounds: tuple[str, ...] = ()  # suites that miss a bound with it
    figures: tuple[str, ...] = ()  # suites of which figures move
    unmeasured: str = ""  # why no figure does

    @property
    def named(self) -> tuple[str, ...]:
        """All that has to notice it, in words."""
        bounds = [f"bound of {suite}" for suite in self.bounds]
        figures = [f"figures of {suite}" for suite in self.figures]
        return (*self.tests, *bounds, *figures)

    def sources(self) -> dict[str, str]:
        """File -> its text with all edits of it. Raises ValueError as :meth:`Edit.applied`."""
        texts: dict[str, str] = {}
        for edit in self.edits:
            before = texts.get(edit.file) or (ROOT / edit.file).read_text("utf-8")
            texts[edit.file] = edit.applied(before)
        return texts


def mutations(only: Sequence[str] = ()) -> list[Mutation]:
    """Those of tests/mutations.yaml; *only* those with one of these words in their name."""
    entries = yaml.safe_load(ENTRIES.read_text("utf-8"))
    found = [
        Mutation(
            name=entry["name"],
            breaks=entry["breaks"],
            edits=tuple(Edit(**edit) for edit in entry["edits"]),
            unmeasured=entry.get("unmeasured", ""),
            **{key: tuple(value) for key, value in entry.get("noticed_by", {}).items()},
        )
        for entry in entries
    ]
    return [each for each in found if not only or any(word in each.name for word in only)]


@contextmanager
def mutated(mutation: Mutation | None) -> Iterator[Path]:
    """A copy of the tree with *mutation*, None: without one. What nobody changes is linked."""
    with tempfile.TemporaryDirectory(prefix="c3sim-mutation-") as folder:
        copy, texts = Path(folder), {} if mutation is None else mutation.sources()
        copied = {*COPIED, *(Path(file).parts[0] for file in texts)}
        for path in ROOT.iterdir():
            if path.name in copied or path.is_file():
                (shutil.copytree if path.is_dir() else shutil.copy2)(path, copy / path.name)
            elif path.name not in (".git", ".venv"):
                (copy / path.name).symlink_to(path)
        for file, text in texts.items():
            (copy / file).write_text(text, encoding="utf-8")
            shutil.rmtree((copy / file).parent / "__pycache__", ignore_errors=True)
        _link_data(copy)
        yield copy


def _link_data(copy: Path) -> None:
    """Let packages that lie beside c3sim be found inside it, as setuptools would put them there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for package, place in project["tool"]["setuptools"]["package-dir"].items():
        inside = copy.joinpath(*package.split("."))
        if not inside.exists():
            inside.symlink_to(copy / place)


def python(copy: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run Python in *copy*, whose packages come first."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def pytest(copy: Path, tests: Sequence[str], *options: str) -> list[str]:
    """The ids of *tests* that fail in *copy*; with *options* plugins are there. Raises RuntimeError
    where they cannot be run.
    """
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "-rfE")
    done = python(copy, *words, *options, *tests, **({} if options else WITHOUT_PLUGINS))
    if done.returncode not in (PASSED, FAILED):
        raise RuntimeError(f"pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    return [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]


def fails(test: str, failed: Sequence[str]) -> bool:
    """True if *test*, or one of its cases, is among those that *failed*."""
    return any(one == test or one.startswith(f"{test}[") for one in failed)


class Judged(NamedTuple):
    """The answer of `c3sim validate`: figures by (suite, record, metric, name), missed bounds."""

    figures: dict[tuple[str, ...], float]
    missed: set[str]

    def moved(self, other: Judged) -> set[str]:
        """Suites of which a figure is another one in *other*, or is not there."""
        return {
            key[0]
            for key, old in self.figures.items()
            if not abs(other.figures.get(key, float("inf")) - old) <= REL * abs(old)
        }


def judged(copy: Path, *words: str) -> Judged:
    """The verdict of `c3sim validate` in *copy*, on all packaged records but for *words*."""
    command = "from c3sim.cli import main; main()"
    done = python(copy, "-c", command, "validate", "--json", "--yes", "--jobs", "1", *words)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    verdict = json.loads(done.stdout)
    figures = {
        (case["suite"], case["id"], case["metric"], case["name"]): float(value)
        for case in verdict["cases"]
        for key, value in case.items()
        if key.startswith("predicted_") and value is not None
    }
    missed = {score["name"] for score in verdict["suites"] if score["pass"] is False}
    return Judged(figures, missed)


class Sight(NamedTuple):
    """The tests and suites that noticed *mutation*, and those its entry names that did not."""

    mutation: Mutation
    noticed: tuple[str, ...]
    silent: tuple[str, ...]

    def __str__(self) -> str:
        named = self.mutation.named
        found = [each for each in self.noticed if each in named]
        others = [each for each in self.noticed if each not in named]
        lines = [f"{self.mutation.name}: {'NOT NOTICED' if self.silent else 'noticed'}"]
        lines += [f"  by {each}" for each in [*found, *others[:SHOWN]]]
        lines += [f"  and {len(others) - SHOWN} more"] * (len(others) > SHOWN)
        return "\n".join([*lines, *(f"  not by {each}" for each in self.silent)])


class Plain(NamedTuple):
    """A copy without a mutation: all quick tests that *failed*, and the *verdict* on all records;
    None: not asked for.
    """

    failed: list[str] | None
    verdict: Judged | None


def quick_tests(copy: Path) -> list[str]:
    """The ids of all quick tests that fail in *copy*."""
    ignored = [f"--ignore={test}" for test in ABOUT_THE_TREE]
    return pytest(copy, ["tests"], "-m", "not slow", *ignored)


def sight(mutation: Mutation, unchanged: Plain) -> Sight:
    """Try *mutation*: its tests, or all quick ones, and the suites, as they were *unchanged*."""
    plain = unchanged.verdict
    with mutated(mutation) as copy:
        if unchanged.failed is None:
            failed = pytest(copy, mutation.tests)
        else:
            failed = [each for each in quick_tests(copy) if each not in unchanged.failed]
        verdict = None if plain is None else judged(copy)
    noticed = [test for test in mutation.tests if fails(test, failed)]
    noticed += [each for each in failed if not any(fails(test, [each]) for test in mutation.tests)]
    wanted: tuple[str, ...] = mutation.tests
    if plain is not None and verdict is not None:
        noticed += sorted(f"bound of {suite}" for suite in verdict.missed - plain.missed)
        noticed += sorted(f"figures of {suite}" for suite in plain.moved(verdict))
        wanted = mutation.named
    return Sight(mutation, tuple(noticed), tuple(each for each in wanted if each not in noticed))


def main() -> int:
    asked = _arguments()
    chosen = mutations(asked.only)
    if not chosen:
        sys.exit(f"no mutation has {' or '.join(asked.only)} in its name")
    if asked.page or asked.check:
        return _write_page(asked.check)
    if asked.turns:
        turn = turn_of_commit(asked.turns)
        chosen = chosen[turn :: asked.turns]
    with mutated(None) as copy:
        if failed := pytest(copy, sorted({test for each in chosen for test in each.tests})):
            print("without a mutation these tests fail:", *failed, sep="\n  ")
            return 1
        plain = Plain(
            quick_tests(copy) if asked.all else None,
            judged(copy) if asked.measured or asked.all else None,
        )
    silent = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for each in pool.map(lambda one: sight(one, plain), chosen):
            print(each, flush=True)
            silent += [each.mutation.name] * bool(each.silent)
    print(f"{len(chosen) - len(silent)} of {len(chosen)} mutations noticed")
    return 1 if silent else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="word of names; repeatable")
    parser.add_argument("--turns", type=int, default=0, help="one in so many, by the commit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies at once")
    parser.add_argument("--measured", action="store_true", help="all records as well")
    parser.add_argument("--all", action="store_true", help="all quick tests and all records")
    parser.add_argument("--page", action="store_true", help="write docs/mutations.md")
    parser.add_argument("--check", action="store_true", help="say whether that is fresh")
    return parser.parse_args()


def _write_page(check: bool) -> int:
    """Write docs/mutations.md, or with *check* only say whether it is fresh."""
    made = page(mutations())
    if check:
        if not PAGE.exists() or PAGE.read_text("utf-8") != made:
            sys.exit("docs/mutations.md is out of date; run: python tools/mutations.py --page")
        return 0
    PAGE.write_text(made, encoding="utf-8")
    return 0


HEAD = """# What the tests notice

Would it be noticed if a mechanism were lost? These mutations break one each. For every one a test
fails that was worked out by hand, and where a machine was measured, predictions of its records
move: *bound* names suites that then miss a bound in `c3sim validate`, *figures* suites whose golden
figures (tests/golden) are no longer what they were.

`nox -s mutations` applies each to a copy of the tree and runs its tests; with `-- --measured` all
records too, with `-- --all` all quick tests. Written by `python tools/mutations.py --page` from
tests/mutations.yaml.

"""


def page(entries: Sequence[Mutation]) -> str:
    """docs/mutations.md."""
    return HEAD + "\n".join(_section(each) for each in entries)


def _section(mutation: Mutation) -> str:
    files = ", ".join(sorted({f"`{edit.file}`" for edit in mutation.edits}))
    rows = [f"- in {files}"]
    rows += [f"- test: `{test}`" for test in mutation.tests]
    for name, suites in (("bound", mutation.bounds), ("figures", mutation.figures)):
        rows += [f"- {name}: {', '.join(f'`{suite}`' for suite in suites)}"] * bool(suites)
    rows += [f"- no record: {mutation.unmeasured}"] * bool(mutation.unmeasured)
    title = mutation.name.replace("_", " ").capitalize()
    return "\n".join([f"## {title}", "", mutation.breaks, "", *rows, ""])


if __name__ == "__main__":
    sys.exit(main())
