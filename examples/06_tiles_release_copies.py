"""Overlap inside a kernel: each quarter of a GEMM's tiles releases a DMA copy of its quarter of the
result.
"""

import c3sim

# The same copies, released by tiles as they are finished, and all of them by the end of the GEMM.
waiting = {f"task.quarter{number}.after": '["gemm"]' for number in (1, 2, 3)}
by_tiles = c3sim.run("tiles-release-copy")
by_end = c3sim.run("tiles-release-copy", set=waiting)

for name, result in (("released by tiles", by_tiles), ("released by the GEMM's end", by_end)):
    print(f"{name}: wall {result.wall_s * 1e3:.1f} ms")
    for task, times in result.tasks.items():
        print(f"  {task:9} {times.start_s * 1e3:5.1f} to {times.end_s * 1e3:4.1f} ms")
