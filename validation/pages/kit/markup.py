"""Text into HTML: escaped, links made, numbers written the same way everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_URL = re.compile(r"https?://[^\s,;()\"<>]+")


def text(value: object) -> str:
    """*value*, escaped."""
    return escape(str(value))


def link(value: str) -> str:
    """*value*, escaped, its web addresses as links."""
    parts, end = [], 0
    for found in _URL.finditer(value):
        address = found.group().rstrip(".:")
        parts += [
            escape(value[end : found.start()]),
            f'<a href="{escape(address)}">{escape(address)}</a>',
        ]
        end = found.start() + len(address)
    return "".join([*parts, escape(value[end:])])


def percent(value: float | None, digits: int = 1) -> str:
    """A share as per cent, a dash for what is missing."""
    return "–" if value is None else f"{100 * value:.{digits}f}"


def signed(value: float) -> str:
    """A share as per cent with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


def slug(name: str) -> str:
    """*name* as the anchor of a section."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def cell(inner: str, kind: str = "") -> str:
    """One cell of a table, its content HTML already."""
    return f'<td class="{kind}">{inner}</td>' if kind else f"<td>{inner}</td>"


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", identity: str = ""
) -> str:
    """A table of cells (see :func:`cell`) under plain *headers*; a header that begins with ``#`` is
    a number's.
    """
    heads = "".join(
        f'<th scope="col" class="number">{escape(name[1:])}</th>'
        if name.startswith("#")
        else f'<th scope="col">{escape(name)}</th>'
        for name in headers
    )
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    name = f' id="{identity}"' if identity else ""
    return f'<div class="wide"><table{name}>{title}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
