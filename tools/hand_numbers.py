"""Date the numbers of pages that people write: each such page ends with a mark.

    python tools/hand_numbers.py          write today's date on pages whose numbers have changed
    python tools/hand_numbers.py --list   name them

The mark has a digest of the page's numbers (those of input files, programs and links are left out),
so that a number that changes without a new mark is found by ``tests/test_docs.py``.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
GENERATED = ("README", "commands", "gallery", "exam", "validation", "gaps", "mutations")
MARK = re.compile(r"\n\*Numbers by hand, last changed (\S+) \((\w+)\)\.\*\n\Z")
INPUT = re.compile(r"```(?:yaml|sh|python|toml|json|ini)\n.*?```|\]\([^)]*\)|<!--.*?-->", re.DOTALL)


def digest(text: str) -> str:
    """Six digits for the numbers of *text*, a page without its mark; empty where it has none."""
    numbers = re.findall(r"\d+(?:\.\d+)?", INPUT.sub("", MARK.sub("", text)))
    return hashlib.sha256(" ".join(numbers).encode()).hexdigest()[:6] if numbers else ""


def unmarked() -> Iterator[Path]:
    """Pages by hand whose numbers have no mark, or changed since."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        mark = MARK.search(text)
        if page.stem not in GENERATED and digest(text) != (mark[2] if mark else ""):
            yield page


def write(page: Path, day: str) -> None:
    """Mark *page* with *day*."""
    text = MARK.sub("", page.read_text(encoding="utf-8"))
    found = digest(text)
    mark = f"\n*Numbers by hand, last changed {day} ({found}).*\n" if found else ""
    page.write_text(text + mark, encoding="utf-8")


if __name__ == "__main__":
    for changed in list(unmarked()):
        print(changed.relative_to(DOCS.parent))
        if "--list" not in sys.argv:
            write(changed, date.today().isoformat())
