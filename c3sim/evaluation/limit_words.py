"""Meaning of a number that binds a time, where its path does not say it."""

from __future__ import annotations

from fnmatch import fnmatchcase

#: Path, or a pattern of paths -> what it limits; the first that matches.
LIMITS = {
    "gpu.cache_policies.l1_capacity": "L1 lines for loads in flight",
    "gpu.cache_policies.l1_bandwidth": "hits in L1",
    "gpu.cache_policies.*": "what a cache policy keeps",
    "gpu.compute_units.lds": "shared memory: workgroups per unit, and L1 lines it leaves",
    "gpu.compute_units.read_bandwidth": "loads in flight per unit over memory latency",
    "gpu.compute_units.copy_bandwidth": "loads in flight per unit over memory latency",
    "gpu.compute_units.remote_bandwidth": "bytes in flight per unit to a peer",
    "gpu.compute_units.l2_bandwidth": "a unit's port to L2, loads",
    "gpu.compute_units.port.store_bandwidth": "a unit's port to L2, stores",
    "gpu.compute_units.store_bandwidth": "stores of all units",
    "gpu.compute_units.flops_per_cycle.*": "matrix and vector units",
    "gpu.gemm_libraries.*.operand_feed": "operands of GEMM tiles, from L2 to a unit",
    "gpu.gemm_libraries.*.prologue": "the start of a GEMM's workgroups",
    "gpu.gemm_libraries.*.epilogue": "results of GEMM tiles on their way out",
    "gpu.gemm_libraries.*.slice_time": "steps over K, one after the other",
    "gpu.kernels.*": "kernel launch and completion latency",
    "collective_libraries.*.channels.bytes_per_cycle": "a channel's copying and reducing",
    "collective_libraries.*.channels.default.*": "the number of channels",
    "collective_libraries.*": "latency of the collective's protocol",
    "host*call_times.*": "host time of a framework call",
    "host*launch_time": "host time of a launch",
}


def in_words(path: str) -> str:
    """Words of the field for what *path* limits; empty where nobody needs them."""
    return next((said for each, said in LIMITS.items() if fnmatchcase(path, each)), "")
