"""Colours of the page, light and dark, for colour-blind readers too; series also differ in marker.

- Series: the seven colours of Okabe and Ito ("Color Universal Design", 2008), each moved by at most
  20 units in CIELAB. All have contrast 3 with the page; the least distance between any two, seen
  with protanopia, deuteranopia, tritanopia or none, is at least 22.
- Values: viridis (Smith and van der Walt, 2015), whose lightness rises evenly.
- Values on both sides of a middle: PuOr (Brewer), lightest in the middle.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "raised": "#f5f6f7",
    "ink": "#1b1f24",
    "soft": "#59636e",
    "line": "#d0d7de",
    "faint": "#eaeef2",
    "accent": "#0a58a8",
    "bad": "#b3261e",
}
DARK = {
    "paper": "#14171b",
    "raised": "#1e2329",
    "ink": "#e6e9ec",
    "soft": "#a3acb6",
    "line": "#3a424b",
    "faint": "#262c33",
    "accent": "#7cc4f5",
    "bad": "#ff8a80",
}
SERIES_LIGHT = ("#1E4787", "#DD7800", "#00824F", "#CC79A7", "#0598FA", "#734A03", "#35343F")
SERIES_DARK = ("#6CAEF3", "#EE8201", "#42FFBA", "#B56C8A", "#3F60BB", "#FFF70E", "#C5E5FF")
RAMP = (
    "#440154",
    "#482475",
    "#414487",
    "#355f8d",
    "#2a788e",
    "#21918c",
    "#22a884",
    "#44bf70",
    "#7ad151",
    "#bddf26",
    "#fde725",
)
DIVERGING = (
    "#7f3b08",
    "#b35806",
    "#e08214",
    "#fdb863",
    "#fee0b6",
    "#f7f7f7",
    "#d8daeb",
    "#b2abd2",
    "#8073ac",
    "#542788",
    "#2d004b",
)


def css() -> str:
    """The colours as custom properties; a choice of the reader goes before that of the system."""
    light = _properties(LIGHT, SERIES_LIGHT)
    dark = _properties(DARK, SERIES_DARK)
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        "@media (prefers-color-scheme: dark) "
        f"{{ :root:not([data-theme=light]) {{ color-scheme: dark; {dark} }} }}\n"
        f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}\n"
    )


def _properties(named: dict[str, str], series: tuple[str, ...]) -> str:
    every = {**named, **{f"series-{number}": colour for number, colour in enumerate(series)}}
    return " ".join(f"--{name}: {colour};" for name, colour in every.items())
