"""Print the size of each package in tokens and files.

    python tools/size.py                by package
    python tools/size.py --features     by feature (features.toml), the core beside them

Tokens are Python's own, without comments, line ends, indentation and docstrings: how a line is
broken, and what is said about it, does not count.
"""

from __future__ import annotations

import ast
import sys
import tokenize
import tomllib
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("c3sim", "validation", "tests", "tools", "benchmarks")
PACKAGE, CORE = ("c3sim", "validation"), "core"
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def tokens(path: Path) -> int:
    """Tokens of a file."""
    tree = ast.parse(path.read_bytes())
    documented = [node for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in documented
        if ast.get_docstring(node, clean=False) is not None
    }
    with tokenize.open(path) as file:
        return sum(
            token.type not in LAYOUT and token.start not in docstrings
            for token in tokenize.generate_tokens(file.readline)
        )


def by_feature() -> None:
    """Print tokens of each feature: of the package with its validation, of tests and tools."""
    features = tomllib.loads((Path(__file__).parent / "features.toml").read_text())
    sizes: dict[str, Counter[str]] = {name: Counter() for name in [*features, CORE]}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            found = (
                name for name, each in features.items() if any(fnmatch(place, p) for p in each)
            )
            side = "package" if folder in PACKAGE else "tests"
            sizes[next(found, CORE)][side] += tokens(path)
    print(f"{'feature':<44}{'package':>10}{'tests, tools':>14}")
    for name, each in sorted(sizes.items(), key=lambda item: -item[1]["package"]):
        print(f"{name:<44}{each['package']:>10,}{each['tests']:>14,}")
    package, tests = (sum(each[side] for each in sizes.values()) for side in ("package", "tests"))
    print(f"{'all':<44}{package:>10,}{tests:>14,}")


def by_package() -> None:
    sizes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            package = "/".join(path.relative_to(ROOT).parent.parts[:3])
            count = tokens(path)
            for row in {package, f"{folder} in all"}:
                sizes[row] += count
                files[row] += 1
    for row in sorted(sizes):
        print(f"{row:<50}{files[row]:>6} files{sizes[row]:>9,} tokens")


if __name__ == "__main__":
    by_feature() if "--features" in sys.argv[1:] else by_package()
