"""Write hwmodels/domains.json, what libraries were calibrated on: tools/domains.py [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from c3sim.kit.files import write_text
from c3sim.validation.compare.record_files import load
from c3sim.validation.fit.domains import derive, text

FILE = Path(__file__).parents[1] / "hwmodels" / "domains.json"


def main() -> None:
    """Write the file, or with ``--check`` only say whether it is fresh."""
    made = text(derive(load()))
    fresh = FILE.exists() and FILE.read_text(encoding="utf-8") == made
    if "--check" in sys.argv[1:]:
        stale = "hwmodels/domains.json is out of date; run: python tools/domains.py"
        sys.exit(None if fresh else stale)
    if not fresh:
        write_text(FILE, made)


if __name__ == "__main__":
    main()
