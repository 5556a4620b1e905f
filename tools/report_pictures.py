"""Makes the pictures of reports.md from the study that stands there; the page is photographed in a
headless Chromium.

python tools/report_pictures.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from c3sim.experiments.sweep import sweep
from c3sim.output.page import write_report
from c3sim.output.pictures.draw import draw_results
from c3sim.output.results.table import read_results, select

DOCS = Path(__file__).parents[1] / "docs"
COMMAND = "c3sim sweep engines.yaml --out results --report page.html"
SHOWN = {
    "scenario": "896 MiB",
    "strategy": "conccl",
    "gpu.dma_engines.count": 4.0,
    "links.bandwidth": 64e9,
}  # the point opened


def main() -> None:
    text = (DOCS / "reports.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert found, "reports.md has no study"
    with tempfile.TemporaryDirectory() as folder:
        study, page = Path(folder, "engines.yaml"), Path(folder, "page.html")
        study.write_text(found.group(1), encoding="utf-8")
        results = sweep(study, Path(folder, "results")).folder
        table = read_results(results)
        lines = {"kind": "lines", "x": "links.bandwidth", "by": "gpu.dma_engines.count"}
        draw_results(select(table, ["strategy=conccl"]), DOCS / "img" / "plot-lines.png", **lines)
        write_report(results, page, command=COMMAND)
        rows = (table.row(position) for position in range(len(table)))
        point = next(
            row["point"] for row in rows if all(row[name] == value for name, value in SHOWN.items())
        )
        photograph(
            f"{page.as_uri()}#point-{point}",
            DOCS / "img" / "report-page.png",
            Path(folder, "profile"),
        )


def photograph(address: str, picture: Path, profile: Path) -> None:
    """The picture that a browser shows at *address*."""
    browser = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if browser is None:
        sys.exit("no Chromium found; install one or set CHROMIUM to its path")
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--virtual-time-budget=2000",
    )
    where = (f"--user-data-dir={profile}", "--window-size=1500,960", f"--screenshot={picture}")
    subprocess.run([browser, *flags, *where, address], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
