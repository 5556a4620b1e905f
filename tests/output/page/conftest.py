"""The sweep and its page, made once."""

from pathlib import Path

import pytest
from browser import Page
from report_case import STUDY
from shared import shared

from c3sim.experiments.sweep import sweep
from c3sim.output.page import write_report
from c3sim.output.results.table import read_results


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """The folder of the sweep."""
    return shared(tmp_path_factory, "swept", lambda: swept(tmp_path_factory.mktemp("results")))


def swept(folder: Path) -> Path:
    (folder / "pages.yaml").write_text(STUDY, encoding="utf-8")
    return sweep(folder / "pages.yaml", folder / "out").folder


@pytest.fixture(scope="session")
def table(results):
    return read_results(results)


@pytest.fixture(scope="session")
def page(results, tmp_path_factory):
    """The page with a timeline of every point that ran."""
    return shared(
        tmp_path_factory, "page", lambda: written(results, tmp_path_factory.mktemp("page"))
    )


def written(results: Path, folder: Path) -> Path:
    path = folder / "page.html"
    command = "c3sim sweep pages.yaml --report page.html"
    assert write_report(results, path, command=command, jobs=1) == 24
    return path


@pytest.fixture
def tab(browser: Page, page: Path):
    """The page, freshly opened; after any test it has no complaints and has loaded nothing."""
    browser.open(page)
    browser.settle()
    yield browser
    assert browser.complaints() == []
    inside = ("file:", "data:", "blob:")
    assert [url for url in browser.requests() if not url.startswith(inside)] == []
    browser.leave()
