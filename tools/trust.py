"""Write hwmodels/trust.json, errors by conditions: tools/trust.py [--check]. Takes minutes."""

from __future__ import annotations

import sys
from pathlib import Path

from c3sim.kit.files import write_text
from c3sim.validation.compare.figures import compare
from c3sim.validation.compare.measurements import merge
from c3sim.validation.compare.record_files import load, nodes_for
from c3sim.validation.compare.trust import derive, text

FILE = Path(__file__).parents[1] / "hwmodels" / "trust.json"


def main() -> None:
    """Write the file, or with ``--check`` only say whether it is fresh."""
    records = [record for record in load() if record.role == "validation"]
    nodes = {name: loaded.node for name, loaded in nodes_for(records).items()}
    made = text(derive(compare(nodes, merge(records)), nodes))
    fresh = FILE.exists() and FILE.read_text(encoding="utf-8") == made
    if "--check" in sys.argv[1:]:
        stale = "hwmodels/trust.json is out of date; run: python tools/trust.py"
        sys.exit(None if fresh else stale)
    if not fresh:
        write_text(FILE, made)


if __name__ == "__main__":
    main()
