"""Bytes that caches serve of an application on a machine: packaged results of the cache laboratory,
or, where there are none of that shape and machine, the laboratory itself (which needs numba).

``tools/cache_policies.py`` writes the packaged ones, for the shapes and guesses of the study.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from c3sim.cachelab.machine import Machine, lines_of, machine_of
from c3sim.cachelab.nests import IMAGES, Program, program_of
from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.study import Application
from c3sim.spec.task import Served

if TYPE_CHECKING:
    from c3sim.cachelab.laboratory import Laboratory

FILE = "cache-policies.csv"
NUMBERS = ("held", "l1", "l2", "cache", "read", "written", "inserted", "row_misses", "stalls")
KEY = ("key", "machine", "application", "policy", "share")
COLUMNS = (*KEY, *NUMBERS, "flops", "workgroups", "source")


class Result(NamedTuple):
    """Bytes that caches serve of an application, its FLOP, and workgroups of its largest launch."""

    served: Served
    flops: float
    workgroups: int


def key_of(
    application: Application,
    machine: str,
    structure: Mapping[str, float],
    policy: str,
    share: float,
) -> str:
    """Name of a result; *structure*: guesses of the lines of *machine*."""
    shape = application.model_dump(exclude={"source"})
    known = lines_of(machine)
    guessed = {name: f"{value:.6g}" for name, value in structure.items() if name in known}
    what = json.dumps([shape, machine, guessed, policy, share], sort_keys=True)
    return sha256(what.encode()).hexdigest()[:16]


def result(
    application: Application,
    node: Node,
    structure: Mapping[str, float],
    policy: str,
    *,
    share: float = 1.0,
    streams_known: bool = True,
) -> Result:
    """*application* on *node*, which has the *structure*, under *policy* with a *share* of the last
    shared cache. Raises InputError: there is none packaged, and no numba.
    """
    key = key_of(application, node.gpu.name, structure, policy, share)
    if key in packaged():
        return packaged()[key]
    if find_spec("numba") is None:
        message = "no packaged result of this shape and machine, and the cache laboratory needs"
        raise InputError(f"{message} numba: pip install 'c3sim[fast]'", "applications")
    return in_laboratory(application, node, structure, policy, share, streams_known)


def in_laboratory(
    application: Application,
    node: Node,
    structure: Mapping[str, float],
    policy: str,
    share: float,
    streams_known: bool,
) -> Result:
    """The same, by the laboratory."""
    from c3sim.cachelab.served import served_by  # numba, where it is installed

    machine = machine_of(node, application.dtype, structure)
    laboratory = _laboratory(application.model_dump_json(), machine, share)
    program, found = laboratory.program, served_by(laboratory, policy, streams_known=streams_known)
    pairs = list(zip(program.launches, program.weights, strict=True))
    largest = max(program.launches, key=lambda launch: launch.whole(machine.line))
    flops = sum(launch.flops * weight for launch, weight in pairs)
    part = max(1.0, program.weights[0])  # images stand for others, which have workgroups as well
    times = part if len(program.launches) == 1 else 1.0
    return Result(found, flops, round(largest.workgroups * times))


@lru_cache(maxsize=2)
def _program(application: str, machine: Machine) -> Program:
    from c3sim.cachelab.laboratory import images_for

    made = Application.model_validate_json(application)
    return program_of(made, images=images_for(made, machine) if made.kind in IMAGES else None)


@lru_cache(maxsize=1)
def _laboratory(application: str, machine: Machine, share: float) -> Laboratory:
    """The laboratory of *application* on *machine* with a *share* of its last shared cache; it
    keeps the streams, which all policies have in common.
    """
    from c3sim.cachelab.laboratory import SAMPLES, Laboratory
    from c3sim.cachelab.served import with_share

    return Laboratory(_program(application, machine), with_share(machine, share), samples=SAMPLES)


@cache
def packaged() -> Mapping[str, Result]:
    """Results by key."""
    path = files("c3sim.workloads").joinpath("studies", FILE)
    if not path.is_file():
        return {}
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return {row["key"]: _of(row) for row in rows}


def _of(row: Mapping[str, str]) -> Result:
    numbers = {name: float(row[name]) for name in NUMBERS}
    kept = Served.model_validate({**numbers, "source": row["source"]})
    return Result(kept, float(row["flops"]), int(row["workgroups"]))
