"""Knees of a pointer chase that was measured on MI300X."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from c3sim.cachelab.laboratory import POLICIES, Laboratory, Sampled
from c3sim.cachelab.machine import machine_of
from c3sim.cachelab.nests import Program
from c3sim.cachelab.stream import Launch
from c3sim.spec.reading.loading import load_node

MIB = 2**20


def measured():
    path = Path(__file__).parent / "data" / "cache_latency_mi300x.csv"
    rows = [line for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return {int(row["bytes"]): float(row["kernel_ms"]) for row in csv.DictReader(rows)}


@pytest.mark.parametrize(
    ("size", "level"),
    [(16384, "l1"), (65536, "l2"), (2 * MIB, "l2"), (8 * MIB, "cache"), (16 * MIB, "cache")],
)
def test_knees_of_a_pointer_chase_on_mi300x(size, level):
    """Laps of a chase: measured times have steps at 16 to 32 KiB, at 2 to 6 MiB. Beyond, time grows
    with the number of lines: from 8 to 64 MiB it is the same for each. (At 32 KiB, all of L1, the
    measured chase misses; replacing what was used longest ago does not.)
    """
    times = measured()
    of_level = {"l1": times[16384], "l2": times[MIB], "cache": times[8 * MIB] * size / 8 / MIB}
    assert times[size] == pytest.approx(of_level[level], rel=0.05)
    assert times[65536] > 2 * times[16384] and times[8 * MIB] > 6 * times[2 * MIB]
    machine = replace(machine_of(load_node("mi300x-8")), residents=1, window=1)
    order = np.random.default_rng(42).permutation(size // machine.line)
    lap = Launch("lap", 1)
    lap.touch(np.zeros(2 * len(order), int), np.arange(2 * len(order)),
              np.tile(order, 2) * machine.line, machine.line)  # fmt: skip
    number = 16 if size > MIB else 1
    policy = POLICIES["cache_rw"]
    counts = Laboratory(Program.of(lap), machine)._run(Sampled(number, 0), policy)[0]
    found = {"l1": counts.l1, "l2": counts.l2, "cache": counts.cache}
    assert found[level] / counts.loaded == pytest.approx(0.5, abs=0.02)  # the second lap
