"""Write docs/commands.md from --help, docs/gallery.md from examples, docs/exam.md from lessons.

    python tools/reference_pages.py [--check]

With --check nothing is written, and the exit code is 1 if a page is out of date.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import typer

from c3sim.cli.app import app, command

ROOT = Path(__file__).parent.parent
WIDTH = 100
COMMANDS = """\
# Commands

What `c3sim COMMAND --help` prints. `python tools/reference_pages.py` writes this page.
"""
GALLERY = """\
# Gallery

Every program of `examples/` with what it prints, and the lessons. `python tools/reference_pages.py`
writes this page; tests run every program and compare.
"""


def helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    """A section with the help of *command*, then those of its subcommands."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    level = "##" if parent is None or parent.parent is None else "###"
    text = "\n".join(line.rstrip() for line in command.get_help(context).strip().splitlines())
    yield f"{level} {context.command_path}\n\n```text\n{text}\n```\n"
    for key, each in getattr(command, "commands", {}).items():
        yield from helps(each, key, context)


def commands() -> str:
    """The page of commands."""
    group = typer.main.get_command(app)
    for name in group.commands:
        group.commands[name] = command(name)
    return "\n".join([COMMANDS, *helps(group, "c3sim", None)])


def gallery() -> str:
    """The page of examples: what each shows, the program, its output."""
    parts = [GALLERY]
    for path in sorted((ROOT / "examples").glob("[0-9][0-9]_*.py")):
        text = path.read_text(encoding="utf-8")
        about = " ".join((ast.get_docstring(ast.parse(text)) or "").split())
        title = path.stem[3:].replace("_", " ").capitalize()
        parts.append(
            f"## {title}\n\n{about}\n\n"
            f"```{{literalinclude}} ../examples/{path.name}\n:language: python\n```\n\n"
            f"It prints:\n\n"
            f"```{{literalinclude}} ../examples/{path.stem}.out\n:language: text\n```\n"
        )
    return "\n".join([*parts, lessons()])


def lessons() -> str:
    """The lessons, each a page with its pictures and what it prints."""
    lines = [
        "## Lessons",
        "",
        "Each is a notebook, shown with its pictures and what it prints.",
        "",
    ]
    for path in sorted((ROOT / "lessons").glob("[0-9][0-9]_*.py")):
        title = path.read_text(encoding="utf-8").splitlines()[1].removeprefix("# # ")
        lines.append(f"- [{title}](../lessons/{path.name})")
    return "\n".join([*lines, ""])


def exam() -> str:
    """The exam: questions, and answers that the model computes."""
    sys.path.insert(0, str(ROOT / "lessons"))
    page: str = import_module("exam").sheet()
    return page


PAGES = {"docs/commands.md": commands, "docs/gallery.md": gallery, "docs/exam.md": exam}


def main() -> None:
    fresh = {name: page() for name, page in PAGES.items()}
    stale = [
        name
        for name, page in fresh.items()
        if not (ROOT / name).exists() or (ROOT / name).read_text(encoding="utf-8") != page
    ]
    if "--check" in sys.argv[1:]:
        if stale:
            sys.exit(f"{', '.join(stale)}: out of date; run: python tools/reference_pages.py")
        return
    for name in stale:
        (ROOT / name).write_text(fresh[name], encoding="utf-8")
    print(f"written: {', '.join(stale) or 'nothing'}")


if __name__ == "__main__":
    main()
