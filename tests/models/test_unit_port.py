"""Loads and stores of one compute unit."""

from __future__ import annotations

import pytest

from c3sim.models.unit_port import moved_per_cycle, under_way
from c3sim.spec.reading.loading import load_hardware

KIB = 1024
H200 = load_hardware("h200-1").node.gpu


def test_a_turn_is_the_soft_maximum_of_latency_and_port() -> None:
    """29 KiB are 29696 B: latency 29696 / 36.6 = 811 cycles, loads through the port 29696 / 64 =
    464, as many bytes stored 29696 / 32 = 928. (811^4 + (464 + 928)^4)^(1/4) = 1431 cycles for
    59392 B.
    """
    assert moved_per_cycle(H200.compute_units, 29 * KIB, 1.0) == pytest.approx(41.5, rel=1e-3)


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
    rate = moved_per_cycle(H200.compute_units, loads, stored) * H200.clock.maximum / 1e9
    assert rate == pytest.approx(measured, rel=0.08), kind
