"""A script as whoever runs it sees it, in this process: starting another takes longer than most."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest


def run_script(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The output of the script *path*, as the main program; that nothing is said on standard error.
    Warnings are errors, as in all tests.
    """
    before, sys.argv = sys.argv, [str(path)]
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    said = capsys.readouterr()
    assert said.err == ""
    return said.out
