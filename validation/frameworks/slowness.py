"""The slowness of a host: calls of its processes beside those of the quickest process on record.

``c3sim import FILE... --as host --node NODE`` reads what ``host.py``, ``calls.py`` and
``iterations.py`` wrote, and prints the number for ``slowness`` of an iteration and of a workload's
``host``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import mean, median
from typing import Any

from c3sim.errors import InputError, not_json
from c3sim.spec.reading.files import LARGEST_DATA, read_text
from c3sim.spec.reading.loading import load_hardware

from ..compare import record_files

PROFILE = "framework_alone"
MOST_US = 1e9  # of one call
Call = tuple[str, str]  # name and phase
Line = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slowness:
    """*value*: what calls took on the slower rank, of their time in the quickest process on record,
    in the mean over *calls* (their names and phases); *ranks*: the same of each rank.
    """

    value: float
    calls: Mapping[str, float]
    ranks: Mapping[int, float]

    def to_dict(self) -> dict[str, Any]:
        return {"slowness": self.value, "calls": dict(self.calls), "ranks": dict(self.ranks)}


def lines_of(files: Iterable[Path]) -> list[Line]:
    """Timed calls in *files*, also those around the cases of a plan of iterations. Raises
    InputError or InputErrors: no such file, no JSON, no calls.
    """
    found: list[Line] = []
    for file in files:
        for number, text in enumerate(read_text(file, LARGEST_DATA).splitlines(), 1):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError) as error:
                message = f"not valid JSON: {not_json(error)}; each line must be one JSON object"
                raise InputError(message, file=str(file), line=number) from None
            each = line.get("host", [line]) if isinstance(line, dict) else []
            found += [call for call in each if _is_timed(call)] if isinstance(each, list) else []
    if not found:
        message = "no times of calls; must be files of validation/frameworks/host.py"
        raise InputError(message, file=str(file))
    return found


def _is_timed(call: Any) -> bool:
    """True for the times of a call, in us, without a profiler."""
    if not isinstance(call, dict) or call.get("mode") != "together":
        return False
    times, rank = call.get("us"), call.get("rank")
    return (
        all(isinstance(call.get(name), str) for name in ("call", "phase"))
        and isinstance(rank, int)
        and isinstance(times, list)
        and bool(times)
        and all(isinstance(each, int | float) and 0 < each < MOST_US for each in times)
    )


def slowness(lines: Iterable[Line], node: str) -> Slowness:
    """Slowness of a host with the times *lines*, beside the profile of *node*. Raises InputError:
    the profile's calls are on no record.
    """
    quick = quick_times(node)
    times: dict[Call, dict[int, list[float]]] = {}
    for line in lines:
        call = line["call"], line["phase"]
        if call in quick:
            ranks = times.setdefault(call, {})
            ranks.setdefault(line["rank"], []).append(median(line["us"]) / quick[call])
    if not times:
        raise InputError(f"none of the calls is among those on record for {node}", "--node")
    of_rank: dict[int, list[float]] = {}
    for ranks in times.values():
        for rank, each in ranks.items():
            of_rank.setdefault(rank, []).append(mean(each))
    calls = {" ".join(call): max(map(mean, ranks.values())) for call, ranks in times.items()}
    found = {rank: mean(each) for rank, each in sorted(of_rank.items())}
    return Slowness(value=mean(calls.values()), calls=calls, ranks=found)


@lru_cache
def quick_times(node: str) -> dict[Call, float]:
    """Us of each call in the quickest process of the suite that the profile of *node* names."""
    loaded = load_hardware(node)
    leaf = loaded.provenance.get(f"host_profiles.{PROFILE}.slowness")
    suite = None if leaf is None else re.search(r"suite (\w+)", leaf.source)
    if suite is None:
        raise InputError(f"{node} has no host_profiles.{PROFILE}.slowness of a suite", "--node")
    files = [file for file in record_files.record_files() if _begins_with(file, suite[1])]
    calls = [record.observed["host_call"] for record in record_files.load(files)] if files else []
    return quickest(call for call in calls if call["mode"] == "together")


def _begins_with(file: Path, suite: str) -> bool:
    """True if the first record of *file* is of *suite*, as then all are."""
    with file.open(encoding="utf-8") as lines:
        return f'"suite": "{suite}"' in lines.readline()


def quickest(calls: Iterable[Line]) -> dict[Call, float]:
    """Us of each of the *calls*, by their names and phases: ``us`` of each process, of which the
    quickest counts, of its repeats the median.
    """
    return {
        (call["call"], call["phase"]): min(median(us) for us in call["us"].values())
        for call in calls
    }
