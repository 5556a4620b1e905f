"""Golden figures: what c3sim answered when they were last written, and what it answers now.

    python tools/golden.py                                  compare; exit code 1 if anything moved
    python tools/golden.py --only laws --only conccl        some parts, or files, by name
    python tools/golden.py --write --why "links carry both ways"
    python tools/golden.py --validated verdict.json         `c3sim validate --json`, run before

The folder tests/golden has a Parquet file for each thing that was asked, with a row for each
figure: *case*, *figure*, *number* or *text*. Numbers may differ by 1e-9 of their value (times by a
femtosecond), texts not at all. CHANGES.md there says why they were last written, and what moved.

Only c3sim's commands, its public functions and the cases of the laws in tests/support are used.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pandas as pd
from joblib import Parallel, delayed

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden"
SUPPORT = ROOT / "tests" / "support"
REL = 1e-9  # how far numbers may be apart, of the larger one
LEAST = 1e-15  # and in any case: a femtosecond, or rounding of a ratio
SHOWN = 40  # lines of one file that are printed
LISTED = 400  # lines that CHANGES.md has at most
#: Studies that take long are asked for less: few draws of a band; of what is the same again and
#: again, a part. All others are whole, without a band.
LESS: dict[str, dict[str, Any]] = {
    "conccl": {"band": True, "draws": 2},
    "conccl-pool": {"strategies": ("base", "conccl")},
    "ficco": {"set": {"pieces.pieces": [1, 4]}},
}
PLANTED = "planted"  # the mistakes themselves; their messages are in mistakes.parquet

Value = float | str
Figures = dict[tuple[str, str], Value]  # (case, figure) -> number or text


class Piece(NamedTuple):
    """What makes some figures of the file *name*."""

    name: str
    make: Callable[[], Figures]


class Moved(NamedTuple):
    """One figure that is not what it was; None: it was, or is, not there."""

    case: str
    figure: str
    old: Value | None
    new: Value | None

    def __str__(self) -> str:
        return f"{self.case}: {self.figure}: {self._how}"

    @property
    def _how(self) -> str:
        if self.old is None:
            return f"new, {_text(self.new)}"
        if self.new is None:
            return f"lost, was {_text(self.old)}"
        if isinstance(self.old, float) and isinstance(self.new, float) and self.old:
            change = f" ({100 * (self.new / self.old - 1):+.3g} %)"
        else:
            change = ""
        return f"{_text(self.old)} -> {_text(self.new)}{change}"


def main() -> int:
    asked = _arguments()
    names = {piece.name for piece in _pieces(asked.validated, everything=False)}
    known = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in _files()} - {PLANTED}
    if asked.collect:
        _collect(asked.collect)
    wanted = {name for name in names | known | {"suites"} if _is_asked(name, asked.only)}
    if not wanted:
        sys.exit(f"nothing is called {' or '.join(asked.only)}; there are {sorted(names | known)}")
    found = _run([each for each in _pieces(asked.validated) if _is_asked(each.name, asked.only)])
    names = set(found) | {name for name in known if _is_asked(name, asked.only)}
    moved = {name: differences(read(name), found.get(name, {})) for name in sorted(names)}
    moved = {name: each for name, each in moved.items() if each}
    _print(moved, sum(map(len, found.values())), len(names))
    if asked.write:
        for name in moved:
            write(name, found.get(name, {}))
        (FOLDER / "CHANGES.md").write_text(_changes(asked.why, moved), encoding="utf-8")
        return 0
    return 1 if moved else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare; so it does without it")
    parser.add_argument("--write", action="store_true", help="write what is found; needs --why")
    parser.add_argument("--why", default="", help="the reason, for CHANGES.md")
    parser.add_argument("--only", action="append", default=[], help="part or file; repeatable")
    parser.add_argument(
        "--validated", help="result of `c3sim validate --json`, so as not to run it"
    )
    parser.add_argument(
        "--collect", nargs="+", metavar="TESTS", help="take in the mistakes that these tests plant"
    )
    asked = parser.parse_args()
    if asked.write and not asked.why.strip():
        parser.error("--write needs --why: what was changed, and for what reason")
    return asked


def _is_asked(name: str, only: Iterable[str]) -> bool:
    """Whether *name*, as ``studies/conccl``, is one of *only*: itself, its part, or its last word."""
    return not only or any(one in (name, *name.split("/")) for one in only)


# What is asked ------------------------------------------------------------------------------------


def _pieces(validated: str | None, everything: bool = True) -> Iterator[Piece]:
    """All pieces, the longest first; suites are known only when they were compared, so without
    *everything* they are left out.
    """
    if everything:
        yield Piece("suites", partial(_suites, validated))
    listed = _listed()
    for name in listed["studies"]:
        yield Piece(f"studies/{name}", partial(_study, name))
    yield from (Piece("mistakes", partial(_mistakes, part)) for part in range(MISTAKE_PARTS))
    for name in listed["nodes"]:
        yield Piece(f"laws/{name}", partial(_laws, name))
    for name in listed["iterations"]:
        yield Piece("iterations", partial(_run_of, name))
    for name in listed["workloads"]:
        yield Piece("workloads", partial(_compared, name))
    for path in sorted((ROOT / "examples").glob("[0-9][0-9]_*.py")):
        yield Piece("examples", partial(_example, path))


def _listed() -> dict[str, list[str]]:
    """Kind -> names of what is packaged."""
    found = json.loads(_c3sim("list", "--json"))
    return {kind: [each["name"] for each in entries] for kind, entries in found.items()}


def _c3sim(*words: str) -> str:
    """What a command prints. A verdict that fails is one all the same."""
    command = [sys.executable, "-c", "from c3sim.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    return done.stdout


def _suites(validated: str | None) -> Figures:
    """Every figure of the packaged records, the case led by its suite."""
    text = Path(validated).read_text("utf-8") if validated else _c3sim("validate", "--json")
    found: Figures = {}
    for row in json.loads(text)["cases"]:
        unit = next(each for each in ("us", "w", "j") if row.get(f"measured_{each}") is not None)
        predicted, measured = row[f"predicted_{unit}"], row[f"measured_{unit}"]
        case = f"{row['suite']}\t{row['id']} {row['name']}"
        _add(found, case, row["metric"], float(predicted))
        if row["error_given_isolated"] is not None:
            given = measured * (1 + row["error_given_isolated"])
            _add(found, case, f"{row['metric']}, given isolated times", given)
    return found


def _study(name: str) -> Figures:
    import c3sim

    asked = {"band": False, "n_jobs": 1, **LESS.get(name, {})}
    return _flat(name, c3sim.study(name, **asked).to_dict())


def _run_of(name: str) -> Figures:
    import c3sim

    return _flat(name, c3sim.run(name).to_dict())


def _compared(name: str) -> Figures:
    """A workload under every strategy that can apply to it."""
    import c3sim

    return _flat(name, c3sim.compare(name).to_dict())


def _example(path: Path) -> Figures:
    """Every result that a script got from a public function, in order."""
    import c3sim

    results: list[Any] = []

    def kept(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            results.append(function(*arguments, **options))
            return results[-1]

        return call

    names = ("run", "compare", "explain", "study", "sweep")
    with contextlib.ExitStack() as stack, _elsewhere():
        for name in names:
            stack.enter_context(mock.patch.object(c3sim, name, kept(getattr(c3sim, name))))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        runpy.run_path(str(path), run_name="__main__")
    found: Figures = {}
    for number, result in enumerate(results):
        found |= _flat(f"{path.stem} {number}", result.to_dict())
    return found


def _laws(node: str) -> Figures:
    """Every case of the laws on *node*: its result, and what its timeline adds up to."""
    sys.path.insert(0, str(SUPPORT))
    import c3sim
    import law_cases

    found: Figures = {}
    for case in law_cases.CASES:
        if case.node_name == node:
            try:
                result = c3sim.run(case.workload, node=case.node, trace=True)
            except c3sim.C3simError as error:
                _add(found, case.name, "mistake", str(error))
                continue
            found |= _flat(case.name, {**result.to_dict(), "timeline": _sums(result.trace)})
    return found


def _sums(timeline: Any) -> dict[str, float]:
    """Of each row the number of spans and the sums of their starts and ends [s]; of each counter
    the integral.
    """
    sums: dict[str, float] = {}
    for span in timeline.spans:
        values = {"spans": 1, "starts_s": span.start, "ends_s": span.end}
        for name, value in values.items():
            key = f"{span.track} {name}"
            sums[key] = sums.get(key, 0) + value
    for counter in timeline.counters:
        ends = [*counter.times[1:], timeline.end]
        steps = zip(counter.times, ends, counter.values, strict=True)
        sums[f"{counter.name} integral"] = sum((b - a) * value for a, b, value in steps)
    return sums


# Planted mistakes ---------------------------------------------------------------------------------

MISTAKE_PARTS = 4


def planted() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Hash of its content -> a command with a mistake: its words, and the files it finds."""
    path = FOLDER / f"{PLANTED}.parquet"
    if not path.exists():
        return {}
    table = pd.read_parquet(path)
    found: dict[str, tuple[list[str], dict[str, str]]] = {}
    for case, name, content in zip(table["case"], table["name"], table["content"], strict=True):
        words, files = found.setdefault(case, ([], {}))
        if name:
            files[name] = content.decode("utf-8", "surrogateescape")
        else:
            words += json.loads(content)
    return found


def answer(words: list[str], files: Mapping[str, str]) -> tuple[int, str]:
    """Exit code and standard error of a command in a folder with these files."""
    from c3sim.cli import main as command

    out, said, code = io.StringIO(), io.StringIO(), 0
    with _elsewhere() as here, mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        for name, content in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content.encode("utf-8", "surrogateescape"))
        typed = ["c3sim", *(word.replace("{root}", str(ROOT)) for word in words)]
        with mock.patch.object(sys, "argv", typed), contextlib.redirect_stdout(out):
            with contextlib.redirect_stderr(said):
                try:
                    command()
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else 1
    return code, said.getvalue().replace(here, "{here}").replace(str(ROOT), "{root}")


def _mistakes(part: int) -> Figures:
    """The answers to every fourth planted mistake."""
    found: Figures = {}
    for case, (words, files) in list(planted().items())[part::MISTAKE_PARTS]:
        code, said = answer(words, files)
        _add(found, case, " ".join(words), f"{code}: {said}")
    return found


@contextlib.contextmanager
def _elsewhere() -> Iterator[str]:
    """An empty current folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield folder


def _collect(tests: list[str]) -> None:
    """Add the mistakes that *tests* plant to those that are known (tests/support/planting.py)."""
    with tempfile.TemporaryDirectory() as folder:
        plugin = ["-p", "planting", "--planted", folder, "-o", "filterwarnings="]
        command = [sys.executable, "-m", "pytest", "-q", *plugin, *tests]
        subprocess.run(command, cwd=ROOT, check=False)
        known, tried = planted(), 0
        for path in sorted(Path(folder).glob("*.json")):
            words, files = json.loads(path.read_text("utf-8"))
            tried += 1
            if path.stem not in known and _is_a_mistake(words, files):
                known[path.stem] = words, files
    rows = [
        (case, name, content.encode("utf-8", "surrogateescape"))
        for case, (words, files) in sorted(known.items())
        for name, content in [("", json.dumps(words)), *files.items()]
    ]
    table = pd.DataFrame(rows, columns=["case", "name", "content"])
    table.to_parquet(FOLDER / f"{PLANTED}.parquet", compression="zstd", index=False)
    print(f"{tried} mistakes found, {len(known)} known")


def _is_a_mistake(words: list[str], files: Mapping[str, str]) -> bool:
    """Whether the command refuses, and says the same twice."""
    try:
        code, said = answer(words, files)
        return code == 2 and (code, said) == answer(words, files)
    except Exception as error:
        print(f"{words}: {error!r}")
        return False


# Figures ------------------------------------------------------------------------------------------


def _flat(case: str, data: object) -> Figures:
    """Every leaf of plain *data*, by its path."""
    found: Figures = {}
    for path, leaf in _leaves(data, ""):
        _add(found, case, path, leaf)
    return found


def _leaves(data: object, path: str) -> Iterator[tuple[str, Value]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from _leaves(value, f"{path}[{number}]")
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield path, float(data)
    else:
        yield path, str(data)


def _add(found: Figures, case: str, figure: str, value: Value) -> None:
    if (case, figure) in found:
        raise ValueError(f"{case}: {figure} is there twice")
    found[case, figure] = value


def differences(old: Figures, new: Figures) -> list[Moved]:
    """What moved, was lost or is new: the furthest first."""
    moved = [
        Moved(*key, old.get(key), new.get(key))
        for key in [*old, *(key for key in new if key not in old)]
        if not _same(old.get(key), new.get(key))
    ]
    return sorted(moved, key=_distance, reverse=True)


def _same(old: Value | None, new: Value | None) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= max(REL * max(abs(old), abs(new)), LEAST)
    return old == new


def _distance(each: Moved) -> float:
    if isinstance(each.old, float) and isinstance(each.new, float):
        return abs(each.new - each.old) / max(abs(each.old), abs(each.new))
    return 2.0 if each.new is None else 1.5


def _run(pieces: list[Piece]) -> dict[str, Figures]:
    """The figures of every piece, by file; commands that fill all cores come first, alone."""
    found: dict[str, Figures] = {}
    for piece in [each for each in pieces if each.name == "suites"]:
        for (case, figure), value in piece.make().items():
            suite, _, name = case.partition("\t")
            found.setdefault(f"suites/{suite}", {})[name, figure] = value
    rest = [each for each in pieces if each.name != "suites"]
    made = Parallel(n_jobs=-1, pre_dispatch="all", batch_size=1)(
        delayed(each.make)() for each in rest
    )
    for piece, figures in zip(rest, made, strict=True):
        for (case, figure), value in figures.items():
            _add(found.setdefault(piece.name, {}), case, figure, value)
    return found


def _files() -> list[Path]:
    return sorted(FOLDER.rglob("*.parquet"))


def read(name: str) -> Figures:
    """The figures that the file *name* has; none where there is no file."""
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        return {}
    table = pd.read_parquet(path)
    rows = zip(table["case"], table["figure"], table["number"], table["text"], strict=True)
    return {(c, f): number if text is None else text for c, f, number, text in rows}


def write(name: str, figures: Figures) -> None:
    """Keep *figures* as the file *name*; none: no file."""
    path = FOLDER / f"{name}.parquet"
    if not figures:
        path.unlink()
        return
    rows = [
        (case, figure, *((value, None) if isinstance(value, float) else (None, value)))
        for (case, figure), value in figures.items()
    ]
    table = pd.DataFrame(rows, columns=["case", "figure", "number", "text"])
    table = table.astype({"number": "float64", "text": "object"})
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, compression="zstd", compression_level=19, index=False)


# Words --------------------------------------------------------------------------------------------


def _text(value: Value | None) -> str:
    return f"{value:.10g}" if isinstance(value, float) else repr(value)


def _print(moved: Mapping[str, list[Moved]], figures: int, files: int) -> None:
    for name, each in moved.items():
        print(f"{name}: {len(each)} moved")
        for one in each[:SHOWN]:
            print(f"  {one}")
        if len(each) > SHOWN:
            print(f"  and {len(each) - SHOWN} more")
    count = sum(map(len, moved.values()))
    print(
        f"{figures} figures in {files} files: {f'{count} moved' if count else 'all as they were'}"
    )


def _changes(why: str, moved: Mapping[str, list[Moved]]) -> str:
    """The page beside the files: why they were last written, and what moved most."""
    lines = ["# What moved when these figures were last written", "", why.strip(), ""]
    left = LISTED
    for name, each in moved.items():
        lines += [f"## {name}: {len(each)}", ""]
        part = each[: max(3, min(left, SHOWN))]
        left -= len(part)
        lines += [f"- {one}".replace("\n", " ")[:300] for one in part]
        lines += [""] if len(part) == len(each) else [f"- and {len(each) - len(part)} more", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
