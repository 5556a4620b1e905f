"""Makes the picture of docs/lab.md: the laboratory, used in a headless Chromium.

python tools/lab_picture.py
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browser import Page, chromium, find_chromium  # noqa: E402

PAIR, WIDTH = "gemm-beside-all-gather", 1700
PINNED = "document.querySelectorAll('.timeline svg').length === 2"
BAND = "document.querySelector('[data-figure=wall_s] .soft')?.textContent"


def main() -> None:
    executable = find_chromium()
    if executable is None:
        sys.exit("no Chromium found; install one or set CHROMIUM to its path")
    command = ("lab", PAIR, "--strategy", "base", "--no-browser")
    run = [sys.executable, "-c", "from c3sim.cli import main; main()", *command]
    server = subprocess.Popen(run, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    link = server.stderr.readline().split()[-1]
    try:
        with tempfile.TemporaryDirectory() as folder, chromium(executable, Path(folder)) as tab:
            compare_two(tab, link)
            tab.photograph(ROOT / "docs" / "img" / "lab.png")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=20)


def compare_two(tab: Page, link: str) -> None:
    """Pin the run under base, then show sp beside it, with its band."""
    tab.visit(link, width=WIDTH)
    tab.wait_for("document.querySelector('.account')")
    tab.click("[data-part=pin]")
    tab.evaluate(
        "(() => { const list = [...document.querySelectorAll('select')].find((each) =>"
        " [...each.options].some((one) => one.value === 'sp')); list.value = 'sp';"
        " list.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    tab.wait_for(PINNED)
    tab.wait_for(BAND)
    tab.evaluate("scrollTo(0, 0)")
    tab.settle()


if __name__ == "__main__":
    main()
