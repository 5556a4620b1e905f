"""What would other hardware change? Any value of a node can be set: here links, Infinity Cache and
memory.
"""

import c3sim

CHANGES = {
    "as it is": {},
    "twice the links": {"links.bandwidth": "97 GB/s", "links.raw_bandwidth": "128 GB/s"},
    "twice the memory-side cache": {"gpu.memory_side_cache.capacity": "512 MiB"},
    "twice the memory bandwidth": {"gpu.hbm.bandwidth": "10.6 TB/s"},
}

print("                               GEMM        all-gather       both")
for name, changes in CHANGES.items():
    result = c3sim.run("gemm-beside-all-gather", strategy="sp", set=changes)
    gemm, gather = result.tasks["gemm"], result.tasks["gather"]
    print(
        f"{name:28} {gemm.time_s * 1e3:.1f} ms {gemm.slowdown:.2f}x "
        f"{gather.time_s * 1e3:6.1f} ms {gather.slowdown:.2f}x {result.wall_s * 1e3:6.1f} ms"
    )
