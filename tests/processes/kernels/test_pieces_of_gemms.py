"""The cost of a piece of a GEMM beside its arithmetic: C is read again, weights are kept."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of

from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node

NODE = load_node("mi300x-8")
MEMORY = NODE.gpu.hbm.bandwidth


def time(m: int, n: int, k: int, node: Node = NODE, **how: Any) -> float:
    gemm = {"kind": "gemm", "m": m, "n": n, "k": k, **how}
    return run_of({"gemm": gemm}, node).end


def test_adding_to_c_reads_it_again() -> None:
    """C of 16384 x 16384 is 512 MiB, twice what the cache holds, so about half of it comes from
    memory once more; some of that hides behind stores.
    """
    more = time(16384, 16384, 256, accumulate=True) - time(16384, 16384, 256)
    read = 16384 * 16384 * 2 / MEMORY
    assert 0.4 * read < more < read


def test_weights_that_fit_are_found_in_the_cache() -> None:
    """64 rows against 8192 x 8192 weights (128 MiB of the cache's 256): bound by their reads, which
    now come from the cache; of 1 GiB of weights only a quarter is still there.
    """
    small = 8192 * 8192 * 2
    kept = time(64, 8192, 8192, reused=small)
    assert kept < 0.85 * time(64, 8192, 8192)
    large = 8 * small
    most = time(64, 65536, 8192, reused=large) / time(64, 65536, 8192)
    assert 0.7 < most < 1.0


def test_nothing_is_kept_where_there_is_no_shared_cache() -> None:
    node = NODE.changed(gpu__memory_side_cache=None)
    assert node.gpu.shared_cache == 0
    alone, again = (time(64, 8192, 8192, node, reused=reused) for reused in (0.0, 2.0 * 8192**2))
    assert again == pytest.approx(alone, rel=1e-12)
