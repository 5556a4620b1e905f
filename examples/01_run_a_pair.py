"""Run a GEMM beside an all-gather on eight GPUs and read the result."""

import c3sim

result = c3sim.run("gemm-beside-all-gather", strategy="sp")

print(f"{result.workload} on {result.node}, strategy {result.strategy}")
for name, task in result.tasks.items():
    print(
        f"  {name:7} alone {task.isolated_s * 1e3:.1f} ms, together {task.time_s * 1e3:.1f} ms,"
        f" {task.slowdown:.2f}x"
    )
print(
    f"  wall {result.wall_s * 1e3:.1f} ms"
    f" instead of {result.serial_s * 1e3:.1f} ms one after the other"
)
print(
    f"  speedup {result.speedup:.2f} of an ideal {result.ideal_speedup:.2f}:"
    f" {result.fraction_of_ideal:.0%} of ideal"
)
