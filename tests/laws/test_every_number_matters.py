"""The law of improvements would hold of a simulator that ignores its hardware; this one uses every
number of its files.
"""

from __future__ import annotations

import fnmatch

import pytest
from law_cases import CASES, NODES, Case, sample
from law_nodes import numbers_read, scaled
from laws_of_times import end_and_reads, end_with, improvements

from c3sim.simulation.simulate import simulate

# Numbers that the model does not use, by patterns of paths, and why.
UNUSED = {
    "links.raw_bandwidth": "what links signal at; usable bandwidth has an entry of its own",
    "gpu.clock.power_window": "when the power limit acts; these runs are without a limit",
    "gpu.dma_engines.queue_time_slice": "whose turn it is; a shorter one is not a better one",
    "gpu.dma_engines.local_latency": "of batches within a GPU; a single call is a kernel",
    "gpu.dma_engines.local_bandwidth": "the same",
    "gpu.kernels.release_spread": "one event for all; see tests/simulation/test_draws.py",
    "gpu.gemm_libraries.triton.enqueue_time": "no case launches this library eagerly",
    "gpu.gemm_libraries.mori*.enqueue_time": "the same",
    "*.peer_channels.long_base_latency": "no case is an all-to-all by NCCL; suite h200_nccl_loop",
    "collective_libraries.nccl.loop_enqueue_time": "no case is a loop; see tests/processes",
    "host_profiles.*": "no case names a profile; tests/processes, tests/iterations have some",
    "gpu.cache_policies.l1_bandwidth": "no case goes through L1; tests/models, suite h200_policies",
    "gpu.dma_engines.reduce_bandwidth": "no case has an engine add; tests/evaluation/strategies",
    "gpu.kernels.parameter_fault": "no case has managed parameters; tests/processes/kernels",
    "gpu.near_memory.*": "a model of its own, in windows; tests/experiments/near_memory",
    "scale_out.kernel_post_time": "no case has kernels that put; tests/tasks have some",
    "gpu.operators.symmetric_memory.*": "written into tasks first; tests/spec/schedules sees them",
    "gpu.remote_stores.*": "no case stores at peers; tests/processes/kernels have some",
    "collective_libraries.*.engines.barrier_time": "no case has a library's collective by engines;"
    " tests/tasks/test_library_on_engines.py",
    "gpu.clock.response.*": "these runs are without a limit; tests/machine/test_follower.py",
    "gpu.kernels.queue_*_time": "no case has few queues; tests/processes/test_queues.py",
    "gpu.compute_units.store_bandwidth": "no case has a small K; tests/tasks/test_limits.py",
    "gpu.variation.stall_time": "no case is a loop; tests/simulation/test_drift.py",
    "gpu.variation.start": "the same",
    "gpu.gemm_libraries.grouped.next_product": "no case has products in one kernel; tests/models",
}
SAMPLE = ("gemm", "all_gather", "copy to a peer by DMA", "stream")


@pytest.mark.long
def test_every_bandwidth_and_latency_matters_to_some_task() -> None:
    """To one of the sample or, where those do not tell, of all cases."""
    unused = {path for name in NODES for path in improvements(name)}
    unused = _without_those_that_matter(unused, sample())
    named = {pattern: fnmatch.filter(unused, pattern) for pattern in UNUSED}
    assert [pattern for pattern, paths in named.items() if not paths] == []
    unused = unused.difference(*named.values())
    assert sorted(_without_those_that_matter(unused, CASES)) == []


def _without_those_that_matter(paths: set[str], cases: list[Case]) -> set[str]:
    """Those of *paths* that none of *cases* takes less time with."""
    for case in cases:
        for path in paths & improvements(case.node_name).keys():
            if end_with(case, path, 1.25) < end_and_reads(case)[0] * (1 - 1e-6):
                paths = paths - {path}
    return paths


@pytest.mark.parametrize("name", SAMPLE)
def test_a_run_reads_what_moves_it_and_nothing_else_moves_it(name: str) -> None:
    """So the law of improvements may leave out what a run does not read."""
    (case,) = (case for case in CASES if str(case) == f"teaching-4: {name}")
    plain = simulate(case.node, case.workload).end
    end, read = numbers_read(case.node, lambda node: simulate(node, case.workload).end)
    assert end == plain
    others = scaled(case.node, lambda path, _unit: 1.0 if path in read else 2.0)
    these = scaled(case.node, lambda path, _unit: 2.0 if path in read else 1.0)
    assert others != case.node and simulate(others, case.workload).end == plain
    assert simulate(these, case.workload).end != plain
