"""Where did the time go? The slowdown of each task, split by what it shared with the other."""

import c3sim

explanation = c3sim.explain("gemm-beside-all-gather", strategy="sp")

for name, task in explanation.tasks.items():
    print(f"{name}: {task.slowdown:.2f}x its isolated time")
    for cause, share in task.causes.items():
        if abs(share) >= 0.005:
            print(f"  {share:+5.0%}  {cause}")
    print(f"  {task.left_over:+z5.0%}  left over")
