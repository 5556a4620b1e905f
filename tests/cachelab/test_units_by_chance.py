"""Which unit, and so which half of L2, a workgroup has in one launch says nothing of the next."""

import numpy as np
import pytest

from c3sim.cachelab import laboratory, state, turns
from c3sim.cachelab.laboratory import POLICIES, Laboratory, Sampled
from c3sim.cachelab.machine import machine_of
from c3sim.cachelab.nests import Program
from c3sim.cachelab.stream import Launch
from c3sim.spec.reading.loading import load_node

MIB = 2**20


def of_launches(monkeypatch: pytest.MonkeyPatch, node: str, launches: int) -> list[np.ndarray]:
    """Counts of each of several reads of the same 16 MiB."""
    pages = 16 * MIB // 4096
    made = Launch("read", pages)
    made.touch(np.arange(pages), 0, np.arange(pages) * 4096, 4096)
    machine = machine_of(load_node(node))
    found, run = [], turns.run

    def counted(p, s, *rest):
        before = s.counts.copy()
        end = run(p, s, *rest)
        found.append(s.counts - before)
        return end

    monkeypatch.setattr(laboratory.turns, "run", counted)
    program = Program((made,) * launches, (1.0,) * launches)
    Laboratory(program, machine)._run(Sampled(16, 0), POLICIES["past_l1"])
    return found


def test_the_nearer_half_finds_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sectors that the half beside a unit finds, of 16 MiB that are read three times on one H200
    (validation/data/kernels/h200-cache-sweeps.csv): 0, 12.2 and 14.8 of 16.8 MB. All else that is
    found is copied there.
    """
    first, *again = of_launches(monkeypatch, "h200-8", 3)
    assert first[state.READS] == first[state.FILLED] - first[state.COPIED]
    near = [1.0 - each[state.COPIED] / first[state.READS] for each in again]
    assert near == pytest.approx([12.22 / 16.78, 14.81 / 16.78], abs=0.05)
    assert not any(each[state.READS] for each in again)


def test_one_l2_of_a_die_knows_no_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """On MI300X workgroups go round the dies in every launch: what a die read it finds again."""
    first, again = of_launches(monkeypatch, "mi300x-8", 2)
    assert first[state.L2_LOAD_HITS] == 0
    assert again[state.L2_LOAD_HITS] == first[state.LOADS]
