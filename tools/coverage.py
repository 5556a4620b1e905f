"""Keep validation/coverage.json: which suites notice each number of a node.

    python tools/coverage.py [--whole] [--only PATH] [--jobs N]
    python tools/coverage.py --check [--most N] [--validated verdict.json]

Runs the suites whose rows or predictions have changed since they were stored, and numbers that are
new in all suites; the rest stays. ``--whole`` runs everything, ``--only`` the numbers at or below a
path. ``--check`` stores nothing: it runs up to N stale suites and says where the stored listing
does not fit. ``--validated``: what `c3sim validate --json` printed, so that no row is predicted
again to find what has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from c3sim.validation.compare.coverage import NOTICED, Sight, numbers_of
from c3sim.validation.compare.coverage_file import complaints, stale, stored, write
from c3sim.validation.compare.coverage_suite import coverage, errors_of, key_of, suites_of
from c3sim.validation.compare.record_files import load, nodes_for

MOST = 4  # stale suites that a check runs; each takes seconds to a minute of a core
#: Suites that take most of an hour of a core (loops whose governor remembers): a check names them.
LONG = ("mi300x_loops",)


def main() -> None:
    """Renew the listing, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="PATH")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--validated", type=Path, metavar="FILE")
    given = parser.parse_args()
    known = given.validated and errors_of(json.loads(given.validated.read_text("utf-8")))
    keys = {suite: key_of((), suite, known) for suite in suites_of(())}
    changed = [*keys] if given.whole or given.only else stale(keys)
    if given.check:
        wrong = [*complaints(nodes_for(load())), *_check(changed, given.most, given.jobs)]
        sys.exit("\n".join(wrong) if wrong else None)
    if given.whole or given.only:
        sights = _run(given.only, given.jobs, None)
        write(sights, {} if given.only else keys, keep=bool(given.only))
        return
    for suite in changed:  # one by one, so that what is done stays done
        write(_run("", given.jobs, {suite}), {suite: keys[suite]}, {suite})
    for name, path in _new():
        print(f"{name}: {path} is new")
        write(_run(path, given.jobs, None), {})
    print(f"{len(changed)} suites run again: {', '.join(changed) or 'none'}")


def _run(only: str, jobs: int, suites: Collection[str] | None) -> Sequence[Sight]:
    def progress(done: int, total: int) -> None:
        what = ", ".join(suites or ("all suites",))
        print(f"\r{what}: {done} of {total} parts", end="", file=sys.stderr, flush=True)

    found: Sequence[Sight] = coverage(only=only, jobs=jobs, progress=progress, suites=suites)
    print(file=sys.stderr)
    return found


def _new() -> Sequence[tuple[str, str]]:
    numbers = numbers_of(nodes_for(load()))
    keys = [(each.nodes[0], each.path) for each in numbers]
    return [(name, path) for name, path in keys if path not in stored().get(name, {})]


def _check(changed: Sequence[str], most: int, jobs: int) -> Sequence[str]:
    """Mistakes in the stored sights of the suites that have *changed*; of LONG ones it says that
    they are stale.
    """
    if late := [suite for suite in changed if suite in LONG]:
        print(f"stale and not tried, as they take long: {', '.join(late)}")
    changed = [suite for suite in changed if suite not in LONG]
    if len(changed) > most:
        return [f"{len(changed)} suites are stale; run: python tools/coverage.py"]
    wrong = []
    for suite in changed:
        for sight in _run("", jobs, {suite}):
            was = stored()[sight.number.nodes[0]][sight.number.path]
            before = {state for state in NOTICED if suite in was[state]}
            now = {state for state in NOTICED if suite in getattr(sight, state)}
            if before != now:
                moved = f"{before or 'nothing'} before, {now or 'nothing'} now"
                wrong.append(f"{suite} sees {sight.number.path} another way: {moved}")
    return wrong


if __name__ == "__main__":
    main()
