"""A GEMM followed line by line, as its library plans it."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from made_workload import workload_of

from c3sim import load_hardware, run
from c3sim.cachelab.gemm import Tiled, machine_for, paced_by, program_of_tiles, served_gemm
from c3sim.cachelab.laboratory import Counts, Laboratory, laps_for
from c3sim.cachelab.machine import Level, Machine, machine_of
from c3sim.cachelab.stream import Grain

H200 = machine_of(load_hardware("h200-8").node, "bf16")
#: 8 x 4 tiles of 32 x 32; a slice of 64 of K is a line of 128 B of each row.
TILED = Tiled(
    m=256, n=128, k=128, element=2, result=2, times=1, tile=(32, 32), part=64, group=2,
    cluster=(1, 1), residents=1,
)  # fmt: skip
LINE = 128


def test_tiles_are_dealt_out_in_groups_of_rows() -> None:
    """Two rows of four tiles: down, then across; the lines of C say which tile a workgroup has."""
    (launch,) = program_of_tiles(TILED._replace(m=64)).launches
    stream = launch.stream(Grain(LINE, LINE))
    c = (64 + 128) * 128 * 2  # C begins behind A and B
    rows = []
    for first, last in zip(stream.first, stream.first[1:], strict=False):
        stored = stream.line[first:last][stream.code[first:last] % 2 == 1] * LINE - c
        rows.append(int(stored.min() // (128 * 2) // 32))  # 256 bytes are a row of C
    assert rows == [0, 1] * 4


def test_a_group_stands_for_those_behind_it() -> None:
    """Four groups of two rows of tiles: two are followed, the second counts three times. Each tile
    loads 2 x 32 rows of K, 32 tiles in all.
    """
    program = program_of_tiles(TILED)
    assert program.weights == (1.0, 3.0)
    loaded = [launch.bytes(stored=False) for launch in program.launches]
    assert np.dot(program.weights, loaded) == 32 * 2 * 32 * 128 * 2


def test_operands_come_once_where_they_fit_and_b_for_each_group_where_not() -> None:
    """48 MiB; and 48 KiB, two rows of tiles (16) and B (32): rows of the next group
    push B out just before it comes again, so it comes for each of four groups, and A once.
    """
    one = replace(machine_for(TILED, H200), dies=1, parts=False, l2=Level(24576, 16))
    machine = replace(one, units=1, window=8, channels=1, banks=1)
    a, b = 256 * 128 * 2, 128 * 128 * 2
    whole = program_of_tiles(TILED._replace(group=8))
    counts = Laboratory(whole, machine).counts("past_l1")
    assert counts.read == a + b
    small = replace(machine, l2=Level(128, 3))  # 48 KiB
    counts = Laboratory(program_of_tiles(TILED), small).counts("past_l1")
    assert counts.read == pytest.approx(a + 4 * b, rel=0.1)


def test_one_lap_of_two_stands_for_both() -> None:
    """A product whose operands come again from L2 and from the memory-side cache: the rows of A and
    B lie alike in both laps, so a cache of half the sets serves half of the bytes.
    """
    one = replace(machine_for(TILED, H200), dies=1, parts=False, units=4, window=8, interleave=2)
    machine = replace(
        one, channels=4, banks=4, l1=Level(4, 4), l2=Level(64, 8), memory_side=Level(256, 8)
    )
    assert machine.classes == 4
    program = program_of_tiles(TILED._replace(m=512, k=256, group=16))
    whole = Laboratory(program, machine, most=1, laps=1).counts("past_l1")
    half = Laboratory(program, machine, most=1, laps=2).counts("past_l1")
    assert half.part == 1 / 8  # of 4 classes and 2 laps
    assert half.loaded == whole.loaded
    assert 0 < whole.l2 < whole.loaded
    for name in ("l2", "read", "of_memory"):
        assert getattr(half, name) == pytest.approx(getattr(whole, name), rel=0.1)


def test_laps_are_as_many_as_sets_and_lines_under_way_allow() -> None:
    """8192 lines of 4 classes; 8 sets of a bank, 64 lines under way."""
    machine = replace(
        H200, parts=False, channels=4, banks=4, l1=Level(4, 4), l2=Level(32, 8), window=64
    )
    program = program_of_tiles(TILED._replace(group=8))
    lines = program.launches[0].whole(LINE) / 4
    assert laps_for(program, machine, int(lines)) == 1
    assert laps_for(program, machine, int(lines / 3)) == 4
    assert laps_for(program, machine, 1) == 8
    assert laps_for(program, replace(machine, window=16), 1) == 2


def test_draws_of_rates_do_not_follow_lines_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within it a GEMM on a slower machine is the one followed before; another cache is not."""
    runs: list[Machine] = []

    def counts(self: Laboratory, policy: str) -> Counts:
        runs.append(self.machine)
        return Counts(read=1e9)  # more than operands: a larger cache may find some of them

    monkeypatch.setattr(Laboratory, "counts", counts)
    monkeypatch.setattr("c3sim.cachelab.gemm.find_spec", lambda name: True)
    slower = replace(H200, memory_latency=2 * H200.memory_latency, window=H200.window // 2)
    of_fp32 = replace(H200, flops=H200.flops / 16)  # of the node, whatever its GEMMs compute in
    other = TILED._replace(m=192)
    with paced_by(of_fp32):
        for machine in (H200, slower):
            served_gemm(other, machine, "past_l1", (1.0,), alike=True)
        assert len(runs) == 1
        served_gemm(other, H200, "past_l1", (0.5, 1.0), alike=True)
        assert len(runs) == 2
    served_gemm(other, slower, "past_l1", (1.0,), alike=True)
    assert len(runs) == 3
    assert runs[-1].memory_latency == slower.memory_latency
    assert {each.flops for each in runs} == {H200.flops}


def test_a_cache_that_finds_all_says_what_larger_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands of 96 KiB and results of 64 KiB that move once with half of the cache: nothing is
    left to find with all of it. What a quarter moves, half as much again, says nothing of a half.
    """
    once, followed = (256 * 128 + 128 * 128 + 256 * 128) * 2, []

    def counts(self: Laboratory, policy: str) -> Counts:
        followed.append(self.machine.shared / H200.shared)
        return Counts(read=once * (1.5 if len(followed) == 1 else 1.0))

    monkeypatch.setattr(Laboratory, "counts", counts)
    monkeypatch.setattr("c3sim.cachelab.gemm.find_spec", lambda name: True)
    shares = 0.25, 0.5, 1.0
    found = served_gemm(TILED._replace(residents=3), H200, "past_l1", shares, alike=True)
    assert followed == [0.25, 0.5]
    assert [each.held for each in found] == [share * H200.shared for share in shares]
    assert [each.read for each in found] == [1.5 * once, once, once]


@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
def test_a_gemm_of_a_workload_takes_what_lines_say() -> None:
    """8192 x 8192 x 512 on H200 reads 29 MB by a profiler's counters, its operands are 17: tiles in
    step and a cache that all of them share never read again; lines do.
    """
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 512}
    found = {}
    for lines in (None, "past_l1"):
        task = gemm | ({"lines": lines} if lines else {})
        found[lines] = run(workload_of({"gemm": task}, node="h200-1"))
    detail = found["past_l1"].tasks["gemm"].detail
    assert detail["caches"].startswith("cache laboratory, past_l1")
    assert found["past_l1"].wall_s >= found[None].wall_s
