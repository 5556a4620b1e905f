"""HTML from text (escaping, links, sections, tables), and shapes, scales and axes of pictures.

Colours come from the style sheet, so pictures follow light and dark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps *low* to *high* onto pixels *start* to *stop*, evenly or in logarithms."""

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)


def ticks(scale: Scale) -> list[tuple[float, str]]:
    """Round values within *scale* with their labels; in logarithms decades, or 1, 2, 5 where there
    are few.
    """
    if not scale.logarithmic:
        step = _round_step((scale.high - scale.low) / 5)
        first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
        return [(i * step, f"{i * step:g}") for i in range(first, last + 1)]
    decades = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        found = [digit * 10.0**decade for decade in decades for digit in digits]
        inside = [
            value for value in found if scale.low <= value * 1.0001 and value <= scale.high * 1.0001
        ]
        if len(inside) >= 3:
            return [(value, f"{value:,g}") for value in inside]
    return [(scale.low, f"{scale.low:.3g}"), (scale.high, f"{scale.high:.3g}")]


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(digit * size for digit in (1, 2, 5, 10) if digit * size >= rough)


def picture(width: float, height: float, shapes: Sequence[str], title: str) -> str:
    """*shapes* as one picture of that size; *title* is read to those who do not see it."""
    box = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg {box} role="img" aria-label="{escape(title)}">{"".join(shapes)}</svg>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"{dash}/>'


def polygon(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{kind}"/>'


def rectangle(
    x: float, y: float, width: float, height: float, kind: str, opacity: float = 1.0
) -> str:
    faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" '
        f'height="{height:.1f}" class="{kind}"{faint}/>'
    )


def circle(x: float, y: float, radius: float, kind: str, tip: str = "") -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{kind}">{_tip(tip)}</circle>'


def diamond(x: float, y: float, size: float, kind: str, tip: str = "") -> str:
    path = (
        f"M{x - size:.1f} {y:.1f}L{x:.1f} {y - size:.1f}L{x + size:.1f} "
        f"{y:.1f}L{x:.1f} {y + size:.1f}Z"
    )
    return f'<path d="{path}" class="{kind}">{_tip(tip)}</path>'


def label(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(words)}</text>'


def _tip(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""
