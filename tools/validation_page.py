"""Write docs/validation.md and the pages beside it: tools/validation_page.py [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from c3sim.kit.files import write_text
from c3sim.validation.compare.record_files import load, nodes_for
from c3sim.validation.compare.verdict import validate
from c3sim.validation.pages.markdown_page import markdown

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Write the pages, or with ``--check`` only say whether they are fresh."""
    records = load()
    pages = markdown(validate(records, nodes_for(records)))
    (DOCS / "validation").mkdir(exist_ok=True)
    stale = [name for name, text in pages.items() if _present(DOCS / name) != text]
    if "--check" in sys.argv[1:]:
        names = ", ".join(stale)
        sys.exit(f"{names}: out of date; run: python tools/validation_page.py" if stale else None)
    for name in stale:
        write_text(DOCS / name, pages[name])


def _present(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


if __name__ == "__main__":
    main()
