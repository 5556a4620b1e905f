"""Write docs/validation.md from the packaged records: tools/validation_page.py [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from c3sim.output.kit.files import write_text
from c3sim.validation.compare.nodes import nodes_for
from c3sim.validation.compare.record_files import load
from c3sim.validation.compare.verdict import validate
from c3sim.validation.pages.markdown_page import markdown

PAGE = Path(__file__).parents[1] / "docs" / "validation.md"


def page() -> str:
    """The page as it should be now."""
    records = load()
    return markdown(validate(records, nodes_for(records)))


def main() -> None:
    """Write the page, or with ``--check`` only say whether it is fresh."""
    fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    if "--check" in sys.argv[1:]:
        sys.exit(
            None
            if fresh
            else "docs/validation.md is out of date; run: python tools/validation_page.py"
        )
    if not fresh:
        write_text(PAGE, page())


if __name__ == "__main__":
    main()
