"""A browser for the tests of pages, and two options. ``--compiled``: whatever simulates does so in
compiled loops (needs numba); CI runs the laws this way too: python -m pytest --compiled tests/laws.
``--every-case``: all tests, where other runs have a share of those marked ``long`` or ``turns``,
another with each commit; and laws are tried on every node and workload.
"""

import gc
import os
import sys
from functools import partial
from pathlib import Path

import pytest
from browser import chromium, find_chromium
from refusals import Refusals
from turns import is_about_changes, waits, why_left_out

# Tests start hundreds of processes: each would compile c3sim again, and every run all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--compiled", action="store_true", help="simulate in compiled loops (needs numba)"
    )
    parser.addoption("--every-case", action="store_true", help="long tests, all cases of the laws")
    parser.addoption("--refusals-to", type=Path, help="tools/golden.py --collect asks for it")


def pytest_configure(config: pytest.Config) -> None:
    """Hear refusals; before any test module imports it, give ``simulate`` another default."""
    config.pluginmanager.register(Refusals(folder=config.getoption("--refusals-to")), "refusals")
    if config.getoption("--compiled"):
        from c3sim.simulation import simulate

        simulate.simulate = partial(simulate.simulate, compiled=True)


def pytest_report_header(config: pytest.Config) -> str | None:
    return "simulations run in compiled loops" if config.getoption("--compiled") else None


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if not config.getoption("--every-case"):
        files = Path(__file__).parent.rglob("test_*.py")
        left = sum(waits(file, config.rootpath) for file in files)
        terminalreporter.write_line(f"{left} files wait for another commit, or for --every-case")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that waits for another commit is not even read, unless it is named."""
    if config.getoption("--every-case") or not collection_path.match("test_*.py"):
        return None
    left = collection_path not in _named(config) and waits(collection_path, config.rootpath)
    return left or None


def _named(config: pytest.Config) -> set[Path]:
    """Files that the command line names."""
    asked = (config.invocation_params.dir / word.partition("::")[0] for word in config.args)
    return {path.resolve() for path in asked if path.is_file()}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another commit has, but for files that are named, those that are about what
    this commit changes, and with --every-case.
    """
    if config.getoption("--every-case"):
        return
    root = config.rootpath
    named = _named(config) | {
        path for path in {item.path for item in items} if is_about_changes(path, root)
    }
    for item in items:
        if reason := why_left_out(item, named):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: the collector need not look at them again, and seldom
    at what comes and goes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, the working directory: errors tell paths relative to it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def few_draws(monkeypatch):
    """Gains, advice and differences of two runs have the band of four draws instead of dozens."""
    gains = ("gain.DRAWS", "advice.DRAWS", "advice.FEW_DRAWS")
    for name in (*gains, "paired.DRAWS", "paired.FEW_DRAWS"):
        monkeypatch.setattr(f"c3sim.experiments.{name}", 4)


@pytest.fixture
def few_limits(monkeypatch):
    """What binds is looked for as of many tasks: few numbers are moved."""
    monkeypatch.setattr("c3sim.iterations.limits.TASKS", 0)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium; apt-get install chromium, or set CHROMIUM to its path")
    with chromium(executable, tmp_path_factory.mktemp("profile")) as opened:
        yield opened
