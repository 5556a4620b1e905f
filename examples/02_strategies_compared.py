"""The same pair under every strategy: who is fastest, and by how much."""

import c3sim

results = c3sim.compare("gemm-beside-all-gather")

print("strategy     wall (ms)  speedup  of ideal")
for result in results:
    print(
        f"{result.strategy:12} {result.wall_s * 1e3:9.1f} {result.speedup:8.2f}"
        f" {result.fraction_of_ideal:9.0%}"
    )
best = min(results, key=lambda result: result.wall_s)
print(f"fastest: {best.strategy}")
for note in best.notes:
    print(f"note: {note}")
