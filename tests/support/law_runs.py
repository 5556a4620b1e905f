"""Runs of a case that several laws look at, made once. Laws are tried case by case
(tests/laws/conftest.py), so the runs of the last few cases are enough to keep.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache

from law_cases import CASES, Case, as_json, only
from law_observer import Recorder

from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate

__all__ = ["alone", "as_it_is", "digest", "each_once", "first_digest", "unfolded"]


@lru_cache(maxsize=2)
def as_it_is(case: Case) -> tuple[Run, Recorder]:
    """The case with its timeline, folded where it can be, and what an observer saw."""
    recorder = Recorder()
    return simulate(case.node, case.workload, observers=[recorder], trace=True), recorder


@lru_cache(maxsize=2)
def unfolded(case: Case) -> tuple[Run, Recorder]:
    """The same with every GPU simulated; its energies, and no timeline where that differs."""
    run, seen = as_it_is(case)
    if not run.folded:
        return run, seen
    recorder = Recorder()
    options = {"observers": [recorder], "fold": False, "energy": True}
    return simulate(case.node, case.workload, **options), recorder


@lru_cache(maxsize=16)
def alone(case: Case, task: str) -> Run:
    """One task of the case without the others."""
    return simulate(case.node, only(case.workload, task))


def each_once() -> list[Case]:
    """Every workload on one node, the nodes in turn."""
    found: dict[str, list[Case]] = {}
    for case in CASES:
        found.setdefault(case.name, []).append(case)
    return [cases[turn % len(cases)] for turn, cases in enumerate(found.values())]


@cache
def first_digest(case: Case) -> str:
    """Of the first run of *case* in this process."""
    return digest(as_it_is(case)[0])


def digest(run: Run) -> str:
    """A hash of all that *run* says about time, to the last bit."""
    return hashlib.sha256(as_json(run).encode()).hexdigest()
