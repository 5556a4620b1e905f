"""The same GEMM on two machines with a few compute units taken: how a grid is scheduled decides
what that costs.
"""

import c3sim
from c3sim.spec.reading.loading import parse_workload

GEMM = {"kind": "gemm", "m": 5120, "n": 5120, "k": 5120}


def slowdown(node, held):
    """The slowdown of the GEMM beside *held* compute units that other workgroups keep."""
    tasks = {"hold": {"kind": "hold", "workgroups": held, "time": "50 ms"}, "gemm": GEMM}
    workload = parse_workload({"schema": 1, "name": "held", "node": node, "tasks": tasks})
    return c3sim.run(workload).tasks["gemm"].slowdown


print("slowdown of a 5120^3 GEMM beside held compute units")
print("held   mi300x-8 (a workgroup per tile)   h200-2 (a grid that stays, in clusters of two)")
for held in (1, 2, 4, 8, 16, 32):
    print(f"{held:4} {slowdown('mi300x-8', held):12.2f} {slowdown('h200-2', held):28.2f}")

print("beside an all-gather of 256 MiB on two H200: who is launched first, and by whom")
for order, backend in (
    (["gemm", "gather"], "nccl"),
    (["gather", "gemm"], "nccl"),
    (["gemm", "gather"], "dma"),
):
    gather = {"kind": "collective", "op": "all_gather", "size": "256 MiB", "backend": backend}
    workload = parse_workload(
        {
            "schema": 1,
            "name": "pair",
            "node": "h200-2",
            "tasks": {"gemm": GEMM, "gather": gather},
            "host": {"order": order, "prelaunched": True},
        }
    )
    result = c3sim.run(workload)
    times = ", ".join(f"{name} {task.slowdown:.2f}x" for name, task in result.tasks.items())
    print(f"  {backend:4} {order[0]:6} first: {times}; {result.fraction_of_ideal:.0%} of ideal")
