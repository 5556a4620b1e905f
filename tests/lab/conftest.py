"""A laboratory that runs, for the tests that use it in a browser."""

import os
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from urllib.parse import urlsplit

import pytest
from browser import Page
from lab_page import open_lab

#: The laboratory with bands of few draws, which follow every place of a slider.
RUN = "from c3sim.lab import runs; runs.BAND_SAMPLES = 8; from c3sim.cli import main; main()"


def free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="package")
def start(tmp_path_factory):
    """Starts ``c3sim lab`` with some words more; gives the process and its link."""
    if find_spec("nicegui") is None:
        pytest.skip("no NiceGUI; pip install 'c3sim[lab]'")
    # NiceGUI behaves otherwise where it believes to be tested
    outside = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    folder, started = tmp_path_factory.mktemp("lab"), []

    def begin(*words: str) -> tuple[subprocess.Popen, str]:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, "lab", "--no-browser", "--port", str(free()), *words],
            cwd=folder,
            env={**outside, "PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        line = process.stderr.readline()
        assert line.startswith("c3sim lab: http://127.0.0.1:"), line + process.stderr.read()
        return process, line.split()[-1]

    begin.folder = folder  # where it is started
    yield begin
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
        process.stderr.close()
    assert list(folder.iterdir()) == []  # nothing is left where it was started


@pytest.fixture(scope="package")
def link(start):
    return start()[1]


@pytest.fixture
def tab(browser: Page, link: str):
    """The page, freshly opened; after any test it has no complaints and asked nobody else."""
    open_lab(browser, link)
    yield browser
    assert browser.complaints() == []
    hosts = {urlsplit(url).netloc for url in browser.requests() if url.startswith(("http", "ws"))}
    assert hosts == {urlsplit(link).netloc}
    browser.leave()
