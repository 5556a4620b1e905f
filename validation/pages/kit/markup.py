"""HTML from text: escaping, links, sections, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_URL = re.compile(r"https?://[^\s,;()\"<>]+")


def text(value: object) -> str:
    """*value*, escaped."""
    return escape(str(value))


def link(value: str) -> str:
    """*value*, escaped, with its web addresses as links."""
    parts, end = [], 0
    for match in _URL.finditer(value):
        address = match.group().rstrip(".:")
        parts += [
            escape(value[end : match.start()]),
            f'<a href="{escape(address)}">{escape(address)}</a>',
        ]
        end = match.start() + len(address)
    return "".join([*parts, escape(value[end:])])


def slug(name: str) -> str:
    """*name* as the anchor of a section."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def section(anchor: str, heading: str, body: str, legend: str = "") -> str:
    """A heading with an anchor, a legend in soft colour, and *body*, which is HTML."""
    soft = f'<p class="soft">{legend}</p>' if legend else ""
    return f'<h2 id="{anchor}">{heading}</h2>{soft}{body}'


def cell(inner: str, style: str = "") -> str:
    """One cell of a table; *inner* is HTML."""
    return f'<td class="{style}">{inner}</td>' if style else f"<td>{inner}</td>"


def number(inner: str) -> str:
    """A cell with a number."""
    return cell(inner, "number")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], identity: str = "") -> str:
    """A table of cells (see :func:`cell`) under *headers*; ``#`` begins the header of numbers."""
    heads = "".join(
        f'<th scope="col" class="number">{escape(name[1:])}</th>'
        if name.startswith("#")
        else f'<th scope="col">{escape(name)}</th>'
        for name in headers
    )
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    name = f' id="{identity}"' if identity else ""
    return (
        f'<div class="wide"><table{name}><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
