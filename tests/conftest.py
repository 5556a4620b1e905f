"""A browser for the tests of pages, and the option ``--compiled``: whatever simulates does so in
compiled loops (needs numba). CI runs the laws this way too: python -m pytest --compiled tests/laws
"""

import gc
from functools import partial
from pathlib import Path

import pytest
from browser import chromium, find_chromium
from refusals import Refusals


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--compiled", action="store_true", help="simulate in compiled loops (needs numba)"
    )
    parser.addoption("--every-case", action="store_true", help="laws on every node and workload")
    parser.addoption("--refusals-to", type=Path, help="tools/golden.py --collect asks for it")


def pytest_configure(config: pytest.Config) -> None:
    """Hear refusals; before any test module imports it, give ``simulate`` another default."""
    config.pluginmanager.register(Refusals(folder=config.getoption("--refusals-to")), "refusals")
    if config.getoption("--compiled"):
        from c3sim.simulation import simulate

        simulate.simulate = partial(simulate.simulate, compiled=True)


def pytest_report_header(config: pytest.Config) -> str | None:
    return "simulations run in compiled loops" if config.getoption("--compiled") else None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: the collector need not look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium; apt-get install chromium, or set CHROMIUM to its path")
    with chromium(executable, tmp_path_factory.mktemp("profile")) as opened:
        yield opened
