"""Writes workloads/studies/cache-policies.csv: what caches serve of each application of the study
of cache policies, on each machine and under each policy, by the cache laboratory. What is there
stays; rows come as they end, so the same command goes on after an interruption.

python -P tools/cache_policies.py [--jobs N] [--only APPLICATION,...]

(-P: numba looks for a package called coverage, which tools/coverage.py is not.)
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import signal
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from c3sim.experiments.subjects import served
from c3sim.experiments.subjects.applications import POLICIES, PUBLISHED, Machines, guesses
from c3sim.spec.reading.loading import load_study

FILE = Path(__file__).parent.parent / "workloads" / "studies" / served.FILE
STUDY = load_study("cache-policies")
BESIDE = (0.25, 0.5)  # of the last shared cache, beside others


class Part(NamedTuple):
    """An application on a machine with one structure: all policies, from the same streams."""

    application: str
    machine: str
    structure: Mapping[str, float]
    rates: Mapping[str, float]


def parts() -> Iterator[Part]:
    machines = STUDY.machines
    assert machines is not None
    middle, _ = guesses(machines)
    for name in (PUBLISHED, *machines.nodes):
        for application in STUDY.applications:
            yield Part(application, name, middle if name == PUBLISHED else {}, middle)


def asked(part: Part) -> Iterator[tuple[str, float]]:
    """Policies and shares of the last shared cache."""
    yield from ((policy, 1.0) for policy in POLICIES)
    if part.machine != PUBLISHED:
        yield from (("cache_rw", share) for share in BESIDE)


def rows(part: Part, known: frozenset[str]) -> list[dict[str, object]]:
    assert STUDY.machines is not None
    node = Machines(STUDY.machines, STUDY.node).node(part.machine, part.rates)
    node = node.changed(name=part.machine)
    application, found = STUDY.applications[part.application], []
    for policy, share in asked(part):
        key = served.key_of(application, node.gpu.name, part.structure, policy, share)
        if key in known:
            continue
        known_streams = part.machine != PUBLISHED
        one = served.in_laboratory(application, node, part.structure, policy, share, known_streams)
        numbers = {name: f"{getattr(one.served, name):.6g}" for name in served.NUMBERS}
        about = (key, node.gpu.name, part.application, policy, share)
        row = dict(zip(served.KEY, about, strict=True)) | numbers
        found.append(
            row | {"flops": f"{one.flops:.6g}", "workgroups": one.workgroups,
                   "source": one.served.source}
        )  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    known = frozenset(served.packaged())
    only = set(filter(None, options.only.split(",")))
    todo = [each for each in parts() if not only or each.application in only]
    begun = FILE.exists()
    with FILE.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, served.COLUMNS, lineterminator="\n")
        if not begun:
            writer.writeheader()
        with ProcessPoolExecutor(options.jobs, initializer=let_parent_end) as pool:
            waiting = {pool.submit(rows, each, known): each for each in todo}
            try:
                for count, done in enumerate(as_completed(waiting), 1):
                    writer.writerows(done.result())
                    file.flush()
                    part = waiting[done]
                    print(
                        f"{count} of {len(todo)}: {part.application} on {part.machine}", flush=True
                    )
            except KeyboardInterrupt:
                for process in multiprocessing.active_children():
                    process.terminate()
                pool.shutdown(wait=False, cancel_futures=True)
                sys.exit(f"interrupted; {FILE.name} has what is done, the same command goes on")


def let_parent_end() -> None:
    """Ctrl-C goes to the whole group: the parent says what is kept, and ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
