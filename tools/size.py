"""Print the size of each package in tokens and files.

    python tools/size.py

Tokens are Python's own, without comments, line ends, indentation and docstrings: how a line is
broken, and what is said about it, does not count.
"""

from __future__ import annotations

import ast
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("c3sim", "validation", "tests", "tools", "benchmarks")
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


def main() -> None:
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
    main()
