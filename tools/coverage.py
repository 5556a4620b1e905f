"""Write validation/coverage.json: which suites notice each number of a node.

    python tools/coverage.py [--only PATH] [--jobs N] [--check]

A whole run takes minutes. ``--only`` runs the numbers at or below a path and keeps the others.
``--check`` runs nothing: it says where the stored listing does not fit the files.
"""

from __future__ import annotations

import argparse
import sys

from c3sim.validation.compare.coverage import coverage, numbers_of
from c3sim.validation.compare.coverage_file import FILE, complaints, stored, write
from c3sim.validation.compare.nodes import nodes_for
from c3sim.validation.compare.record_files import load


def main() -> None:
    """Write the listing, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="PATH")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    nodes = nodes_for(load())
    if given.check:
        wrong = complaints(nodes)
        sys.exit("\n".join(wrong) if wrong else None)
    present = {(each.nodes[0], each.path) for each in numbers_of(nodes)}
    before = stored() if FILE.exists() else {}
    keep = {
        name: {path: sight for path, sight in sights.items() if (name, path) in present}
        for name, sights in before.items()
    }

    def progress(done: int, total: int) -> None:
        print(f"\r{done} of {total} numbers", end="", file=sys.stderr, flush=True)

    write(coverage(only=given.only, jobs=given.jobs, progress=progress), keep)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
