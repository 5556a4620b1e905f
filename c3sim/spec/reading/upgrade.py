"""Rewrites hardware files of schema 1 to schema 2: ``c3sim upgrade FILE...``.

What changes; comments and layout stay:

- ``schema: 2`` at the top;
- fields that had another name, or have become one of a group (:mod:`c3sim.spec.words`);
- fits told in words of a ``source`` become ``calibrated``, and ``fitted`` goes: its suite is in
there.

A file of schema 2 in which nothing is left of schema 1 stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from c3sim.errors import InputError
from c3sim.spec.reading.documents import read_yaml
from c3sim.spec.reading.files import display, read_text, wrong_file
from c3sim.spec.reading.mistakes import raise_all
from c3sim.spec.reading.yaml_edit import Edit, Entry, Keys, apply, entries_of, flow, quoted, word
from c3sim.spec.sourced import FIT_IN_WORDS
from c3sim.spec.words import new_name

#: New name with a dot -> its group's other fields, as the files of schema 1 meant them.
BESIDE = {
    "peer_channels.part": {
        "rule": '{value: power_of_two, source: "the only rule of files of schema 1"}'
    }
}
#: Fields of which a hardware file has at least one at the top, under a name of either schema.
_TOP = {"gpus", "gpu", "like", "dies", "compute_units", "dma_engines"}


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """A file, its *text* in schema 2, and a line for each of its *changes*; none: left alone."""

    file: Path
    text: str
    changes: tuple[str, ...]


def upgrade(path: Path) -> Upgrade:
    """The hardware file *path* in the present schema; nothing is written. Raises InputErrors."""
    text, errors = read_text(path), list[InputError]()
    read_yaml(text, display(path), errors)
    raise_all(errors)
    entries = _entries(text, path)
    top = {keys[0] for keys in entries}
    schema = entries.get(("schema",))
    if not top & _TOP or (schema is not None and schema.scalar not in ("1", "2")):
        message = "is not a hardware file of schema 1; workloads and records stay in schema 1"
        raise wrong_file(path, message)
    found = [*_schema(text, entries), *_renamed(entries), *_fits(text, entries)]
    text = apply(text, [edit for edit, _ in found])
    found_around = list(_grouped(text, entries_of(text)))
    return Upgrade(
        file=path,
        text=apply(text, [edit for edit, _ in found_around]),
        changes=tuple(change for _, change in (*found, *found_around)),
    )


def _entries(text: str, path: Path) -> dict[Keys, Entry]:
    """Every entry of *path*. Raises InputErrors where the parser that knows places is stricter than
    the one that reads files.
    """
    try:
        return entries_of(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        message = f"not valid YAML: {error.problem or error.context}"
        raise wrong_file(path, message, line) from None


def hardware_files(paths: Iterable[Path]) -> list[Path]:
    """*paths*, each folder replaced by the YAML files below it."""
    return [
        file
        for path in paths
        for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])
    ]


Found = Iterator[tuple[Edit, str]]


def _schema(text: str, entries: dict[Keys, Entry]) -> Found:
    schema = entries.get(("schema",))
    if schema is None:
        first = next(iter(entries.values())).key[0]
        end = ", " if "{" in text[:first] else "\n"  # written as JSON is
        yield (first, first, f"schema: 2{end}"), "schema: 2"
    elif schema.scalar == "1":
        yield schema.replace_value("2"), "schema: 1 becomes 2"


def _renamed(entries: dict[Keys, Entry]) -> Found:
    for keys, entry in entries.items():
        name = new_name(".".join(keys))
        if name is not None and name not in BESIDE:
            yield entry.replace_key(name), f"{'.'.join(keys)} becomes {name}"


def _grouped(text: str, entries: dict[Keys, Entry]) -> Found:
    """Fields that are one of a group now: the group is written around them."""
    for keys, entry in entries.items():
        name = new_name(".".join(keys))
        if name in BESIDE:
            group, _, last = name.partition(".")
            own = last + text[entry.key[1] : entry.value[1]]
            fields = [*(f"{key}: {value}" for key, value in BESIDE[name].items()), own]
            separator = _between(text, entry)
            if separator.startswith("\n"):
                lines = [f"{group}:", *(each.replace("\n", "\n  ") for each in fields)]
                new = f"{separator}  ".join(lines)
            else:
                new = f"{group}: {{{', '.join(fields)}}}"
            yield entry.replace(new), f"{'.'.join(keys)} becomes {name}"


def _fits(text: str, entries: dict[Keys, Entry]) -> Found:
    """Sources that tell a fit: its words become ``calibrated``, in the place of ``fitted``."""
    for keys, source in entries.items():
        match = FIT_IN_WORDS.match(source.scalar or "")
        above = keys[:-1]
        if keys[-1] != "source" or match is None or (*above, "value") not in entries:
            continue
        indent = 2 * len(keys)
        fitted = entries.get((*above, "fitted"))
        calibrated = {
            "suite": "unknown" if fitted is None else str(fitted.scalar),
            "date": match["date"],
            "records": match["records"],
            "data": word(match["data"]),
            "residual": f"{float(match['residual']) / 100:.4g}",
            "interval": f"[{match['low']}, {match['high']}]",
        }
        start = match["start"] or "the start of the fit is not recorded"
        words = f"calibrated: {flow(calibrated, indent)}"
        new_source = quoted(start, indent)
        if fitted is None:
            words = f"{new_source}{_between(text, source)}{words}"
            yield source.replace_value(words), f"{'.'.join(keys)} becomes calibrated"
        else:
            yield source.replace_value(new_source), f"{'.'.join(keys)} becomes calibrated"
            yield fitted.replace(words), f"{'.'.join(above)}.fitted becomes calibrated.suite"


def _between(text: str, entry: Entry) -> str:
    """The text between *entry* and the next one: a comma, or a new line as far to the right."""
    line = text.rfind("\n", 0, entry.key[0]) + 1
    before = text[line : entry.key[0]]
    return ", " if before.strip() else f"\n{before}"
