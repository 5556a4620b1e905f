"""Writes what each example prints into the .out file beside it; tests/test_examples.py compares
with these.

python tools/example_outputs.py [NUMBER ...]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "examples"


def examples() -> list[Path]:
    """All numbered examples, in order."""
    return sorted(HERE.glob("[0-9][0-9]_*.py"))


def output(example: Path) -> str:
    """The output of *example*, run from a folder that is not its own."""
    run = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, cwd="/", timeout=120
    )
    if run.returncode or run.stderr:
        raise SystemExit(f"{example.name} failed:\n{run.stderr}")
    return run.stdout


def main() -> None:
    wanted = sys.argv[1:]
    for example in examples():
        if not wanted or example.name[:2] in wanted:
            example.with_suffix(".out").write_text(output(example), encoding="utf-8")
            print(f"wrote {example.with_suffix('.out').name}")


if __name__ == "__main__":
    main()
