"""Loads and stores of one compute unit."""

from __future__ import annotations

import pytest

from c3sim.models.unit_port import Company, lines_beside, under_way, way, way_of_loads
from c3sim.spec.reading.loading import load_node

KIB = 1024
H200 = load_node("h200-1").gpu


UNITS = H200.compute_units


def test_loads_wait_for_memory_and_stores_for_their_way_out() -> None:
    """29 KiB are 29696 B: latency 29696 / 36.6 = 811 cycles, loads through the port 29696 / 64 =
    464: (811^4 + 464^4)^(1/4) = 833. As many bytes stored take 29696 / 32 = 928, and 232 lines a
    request each: 1160. (833^2.5 + 1160^2.5)^(1/2.5) = 1340 cycles for 59392 B.
    """
    assert way(UNITS, 29 * KIB, 1.0).at(1.0) == pytest.approx(44.3, rel=2e-3)


def test_loaded_memory_slows_a_copy_by_what_its_loads_wait_longer() -> None:
    """Beside 120 workgroups that read on other SMs of an H100 a read of 64 KiB keeps 0.373 of its
    rate, a copy 0.842 (validation/data/kernels/h100-loaded.jsonl.gz); here 0.73.
    """
    copy, read = way(UNITS, 64 * KIB, 1.0), way(UNITS, 64 * KIB, 0.0)
    assert read.at(0.373) / read.at(1.0) == pytest.approx(0.373)
    assert copy.at(0.373) / copy.at(1.0) == pytest.approx(0.842, rel=0.14)


def test_stores_behind_loads_that_wait_for_lines_are_as_slow_as_these() -> None:
    """Threads that ask for 64 KiB and have 29: nothing of their way is hidden from memory."""
    few = way(UNITS, 29 * KIB, 1.0, asked=64 * KIB)
    assert few.at(1.0) == pytest.approx(way(UNITS, 29 * KIB, 1.0).at(1.0))
    assert few.at(0.5) == pytest.approx(0.5 * few.at(1.0))
    assert not few.posts


def test_loads_into_lds_fill_the_port_and_feel_memory_where_they_do_not() -> None:
    """128 KiB under way would be 36.6 x 128 / 29 = 161.5 B per cycle; 64 get through the port."""
    loads = way_of_loads(UNITS, 128 * KIB)
    assert loads.at(1.0) == pytest.approx(64.0, rel=0.01)
    assert loads.at(0.1) == pytest.approx(16.14, rel=0.001)
    assert way_of_loads(UNITS, 8 * KIB).at(1.0) == pytest.approx(8 / 29 * 36.6, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "threads", "lds", "stored", "measured"),
    [  # one workgroup on an SM, GB/s loaded and stored (h200_stream, h200_stream_units: the probe's
        # 1024 threads that claim all shared memory; h200_copy_kernels: 256 threads that claim none)
        ("read", 1024, 227, 0.0, 70.3),
        ("copy", 1024, 227, 1.0, 2 * 44.4),
        ("triad", 1024, 227, 0.5, 1.5 * 57.2),
        ("write", 1024, 227, float("inf"), 63.3),
        ("copy", 256, 0, 1.0, 2 * 34.0),
    ],
)
def test_isolated_kernels(
    kind: str, threads: int, lds: int, stored: float, measured: float
) -> None:
    """Four loads of 16 bytes of each thread; 256 KiB of L1 and shared memory, less the claim."""
    loads = under_way(H200, threads * 64, lds * KIB)
    assert loads == min(threads * 64, (256 - lds) * KIB), kind
    rate = way(UNITS, loads, stored).at(1.0) * H200.clock.maximum / 1e9
    assert rate == pytest.approx(measured, rel=0.04), kind


def test_company_takes_its_part_of_both_ways() -> None:
    """Loads of 64 KiB pass the port in 1024 cycles, with as many of others in 2048: (811^4 +
    2048^4)^(1/4) = 2060. The others' stores go out as well, 2048 cycles and 1024 of requests, with
    2560 of its own.
    """
    others = Company(64 * KIB, 64 * KIB, 32.0)
    assert way(UNITS, 64 * KIB, 0.0, company=others).at(1.0) == pytest.approx(31.8, rel=3e-3)
    both = way(UNITS, 64 * KIB, 1.0, company=others)
    assert both.loads == pytest.approx(2 * 31.8, rel=3e-3)
    assert both.out == pytest.approx(128 * KIB / (2 * 2048 + 1024))


def test_of_too_few_lines_each_has_as_many_as_waves_that_wait() -> None:
    """Of 36 KiB 32 waves have 32 and four have 4; what one does not ask for is the others'."""
    few = Company(64 * KIB, 0.0, 4.0)
    assert lines_beside(36 * KIB, 64 * KIB, 32, few) == (32 * KIB, 4 * KIB)
    assert lines_beside(128 * KIB, 64 * KIB, 32, few) == (64 * KIB, 64 * KIB)
    assert lines_beside(36 * KIB, 64 * KIB, 32, Company(2 * KIB, 0.0, 32.0)) == (34 * KIB, 2 * KIB)
    assert lines_beside(36 * KIB, 8 * KIB, 32, Company(64 * KIB, 0.0, 4.0)) == (8 * KIB, 28 * KIB)
