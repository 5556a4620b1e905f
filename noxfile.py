"""What is run often, each in an environment of its own: nox -l, nox -s quick."""

from __future__ import annotations

import nox

nox.options.sessions = ["quick", "lint", "types", "docs"]
nox.options.reuse_existing_virtualenvs = True


@nox.session
def tests(session: nox.Session) -> None:
    """A commit's share of the tests (tests/README.md); -- --every-case has all."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def laws(session: nox.Session) -> None:
    """The laws on every node and workload, in Python's loops and in compiled ones."""
    session.install("-e", ".[test,fast]")
    for loops in ([], ["--compiled"]):
        session.run("pytest", "-n", "auto", "--every-case", *loops, "tests/laws", *session.posargs)


@nox.session
def quick(session: nox.Session) -> None:
    """The tests that take under a minute together."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", "-m", "not slow", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Rules and format."""
    session.install("ruff>=0.6")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Strict types of c3sim and validation."""
    session.install("-e", ".[lint,lab]")
    session.run("mypy", "c3sim", "validation")


@nox.session
def docs(session: nox.Session) -> None:
    """The site into site/, warnings as errors, after a look at the generated pages."""
    session.install("-e", ".[docs]")
    session.run("python", "tools/reference_pages.py", "--check")
    session.run("python", "tools/readme_figures.py", "--check")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "docs", "site")


@nox.session
def validate(session: nox.Session) -> None:
    """The packaged records against the bounds."""
    session.install("-e", ".")
    session.run("c3sim", "validate", *session.posargs)


@nox.session
def mutations(session: nox.Session) -> None:
    """Is it noticed when a mechanism is lost? A minute; with -- --all hours."""
    session.install("-e", ".[test]")
    session.run("python", "tools/mutations.py", *session.posargs)


@nox.session
def refit(session: nox.Session) -> None:
    """Is what is fitted to MI300X what its records tell? Half a minute."""
    session.install("-e", ".[test]")
    tests = "tests/validation/fit/test_provenance.py"
    session.run("pytest", tests, "-k", "fit_of_mi300x", env={"C3SIM_REFIT": "mi300x"})


@nox.session
def golden(session: nox.Session) -> None:
    """Every figure and message beside what was kept: nox -s golden -- --only laws."""
    session.install("-e", ".[test]")
    session.run("python", "tools/golden.py", "--long", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Ten thousand generated mistakes, an hour; nox -s fuzz -- --cases 500 --seed 7."""
    session.install("-e", ".[test,lab]")
    session.run("python", "benchmarks/bench_fuzz.py", *session.posargs)


@nox.session
def probe(session: nox.Session) -> None:
    """Compile the probe for both vendors without a GPU, and run its self-test."""
    session.run("validation/probe/cross/check.sh", session.create_tmp(), external=True)


@nox.session
def calibrate(session: nox.Session) -> None:
    """Fit everything again, and print what would change. Takes some ten minutes."""
    session.install("-e", ".")
    for node in ("mi300x-8", "h200-2"):
        session.run("c3sim", "calibrate", node, *session.posargs)
