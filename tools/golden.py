"""Golden figures: what c3sim answered when they were last written, and what it answers now.

    python tools/golden.py                                  compare; exit code 1 if anything moved
    python tools/golden.py --only laws --only conccl        some parts, or files, by name
    python tools/golden.py --write --why "links carry both ways"
    python tools/golden.py --long                           whole studies, bands: minutes more
    python tools/golden.py --sample                         a share, another with each commit
    python tools/golden.py --validated verdict.json         `c3sim validate --json`, run before

The folder tests/golden has a Parquet file for each thing that was asked, with a row for each
figure. Numbers may differ by 1e-9 of their value (times by a femtosecond), texts not at all.
CHANGES.md there says why they were last written, and what moved.

Only c3sim's commands, its public functions and the cases of the laws in tests/support are used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping

from golden_figures import FOLDER, Figures, Moved, add, differences, files, read, write
from golden_mistakes import FILE as PLANTED
from golden_mistakes import collect
from golden_pieces import TURNS, Piece, pieces
from joblib import Parallel, delayed
from turns import turn_of_commit

SHOWN = 40  # lines of one file that are printed
LISTED = 400  # lines that CHANGES.md has at most


def main() -> int:
    asked = _arguments()
    if asked.collect:
        collect(asked.collect)
    kept = (path.relative_to(FOLDER).with_suffix("") for path in files() if path != PLANTED)
    known = {each.as_posix() for each in kept if asked.long or each.parts[0] != "long"}
    turn = turn_of_commit(TURNS) if asked.sample else None
    everything = list(pieces(asked.validated, long=asked.long, turn=turn))
    names = known | {piece.name for piece in everything}
    wanted = {name for name in names if _is_asked(name, asked.only)}
    if not wanted:
        there = ", ".join(sorted(names))
        sys.exit(f"nothing is called {' or '.join(asked.only)}; there are {there}")
    parts = {name.partition("/")[0] for name in wanted}
    found = _run([each for each in everything if each.name in {*wanted, *parts}])
    there = set(found) if asked.sample else known | set(found)
    compared = {name for name in there if _is_asked(name, asked.only)}
    moved = {
        name: differences(_kept(name, found.get(name, {}), asked.sample), found.get(name, {}))
        for name in sorted(compared)
    }
    moved = {name: each for name, each in moved.items() if each}
    _print(moved, sum(len(found.get(name, {})) for name in compared), len(compared))
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
    parser.add_argument("--sample", action="store_true", help="a tenth, another with each commit")
    parser.add_argument("--validated", help="what `c3sim validate --json` printed")
    parser.add_argument("--long", action="store_true", help="studies that take minutes, too")
    parser.add_argument(
        "--collect", nargs="+", metavar="TESTS", help="take in the mistakes that these tests plant"
    )
    asked = parser.parse_args()
    if asked.write and not asked.why.strip():
        parser.error("--write needs --why: what was changed, and for what reason")
    if asked.write and asked.sample:
        parser.error("--write needs all cases; leave out --sample")
    return asked


def _kept(name: str, found: Figures, sample: bool) -> Figures:
    """The golden figures *name*; with *sample* those of cases that were *found*."""
    kept = read(name)
    if not sample:
        return kept
    cases = {case for case, _ in found}
    return {key: value for key, value in kept.items() if key[0] in cases}


def _is_asked(name: str, only: Iterable[str]) -> bool:
    """True if one of *only* is *name*, as ``studies/conccl``, or a word of it."""
    return not only or any(one in (name, *name.split("/")) for one in only)


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
            add(found.setdefault(piece.name, {}), case, figure, value)
    return found


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
