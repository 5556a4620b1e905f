"""Finds the formats that can be imported: in the modules here, and in other packages.

A module of this package, or an object that an installed package names in its entry points of the
group ``c3sim.importers``, has a tuple ``FORMATS``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from c3sim.errors import InputError
from c3sim.spec.words import unknown

from .result import Format

GROUP = "c3sim.importers"


@cache
def formats() -> tuple[Format, ...]:
    """All formats, in the order in which they are tried."""
    package = __name__.rpartition(".")[0]
    folder = import_module(package).__path__
    places = [import_module(f"{package}.{each.name}") for each in iter_modules(folder)]
    places += [each.load() for each in entry_points(group=GROUP)]
    found = [each for place in places for each in getattr(place, "FORMATS", ())]
    return tuple(sorted(found, key=lambda each: each.turn))


def find_format(name: str, text: str, file: str) -> Format:
    """The format called *name*, or with ``auto`` the one *text* is in. Raises InputError."""
    names = [each.name for each in formats()]
    if name not in ("auto", *names):
        raise InputError(unknown("format", name, ["auto", *names]), "--format")
    for each in formats():
        if each.name == name or (name == "auto" and each.recognise(text)):
            return each
    message = f"in no known format ({', '.join(names)}); --format names one"
    raise InputError(message, file=file)
