# %% [markdown]
# # 7. The false overlap, and why self-times must not be summed
#
# *Twenty minutes.* A profiler draws a bar for each kernel, from its start to its end. That length
# is its **self-time**. Where bars lie side by side it shows **overlap**. Has that saved time?
#
# ## Question
#
# Under `sp` the whole GEMM, 2.5 ms, runs beside the all-gather. How many of these milliseconds are
# saved, compared with one after the other?

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(7)
guess = None  # ms

# %% [markdown]
# ## Run

# %%
PAIR = "gemm-beside-all-gather"
result = c3sim.run(PAIR, strategy="sp")
lesson.guess(guess, (result.serial_s - result.wall_s) * 1e3, "ms")
sum_of_self_times = sum(task.time_s for task in result.tasks.values())
print(f"sum of self-times {sum_of_self_times * 1e3:.2f} ms")
print(f"one after the other {result.serial_s * 1e3:.2f} ms, wall {result.wall_s * 1e3:.2f} ms")

# %% [markdown]
# ## Picture

# %%
axes = lesson.axes()
start = 0.0
for name, task in result.tasks.items():
    axes.barh("alone, one\nafter the other", task.isolated_s * 1e3, left=start * 1e3, label=name)
    start += task.isolated_s
for colour, (name, task) in zip(("#0072B2", "#E69F00"), result.tasks.items(), strict=True):
    axes.barh(f"both, {name}", task.time_s * 1e3, color=colour)
axes.axvline(result.wall_s * 1e3, color="#888888", ls="--")
axes.invert_yaxis()
axes.set_xlabel("time (ms); dashed: wall time")
axes.legend(frameon=False, loc="lower right")
lesson.show(axes, "Both bars grow when both run: the saving is less than the overlap.")

# %% [markdown]
# ## Why
#
# - Both kernels are **slower** beside each other. Their bars are longer than alone.
# - So *sum of self-times - wall* counts the slowing down as a gain. It gives 2.5 ms.
# - What was really saved is *one after the other - wall*. It is 1.2 ms. The rest of the overlap is
#   **false**.
# - Take isolated times for a sum, or the wall time. Never a sum of bars.
#
# It gets worse when ranks are out of step. A collective needs all ranks. Its kernel starts, holds
# its units, and **waits inside** for the last one. The bar looks like work.

# %%
LATE = (0, 0.25, 0.5, 1, 2)  # ms
bars, moved = [], []
for late in LATE:
    settings = {"workload.host.release": "host", "workload.host.jitter": f"{late} ms"}
    bars.append(c3sim.run(PAIR, strategy="sp", set=settings).tasks["gather"].time_s * 1e3)
    moved.append(result.tasks["gather"].isolated_s * 1e3)
axes = lesson.axes()
axes.plot(LATE, bars, marker="o", label="bar of the all-gather in a profile")
axes.plot(LATE, moved, ls="--", label="what it takes alone")
axes.set_ylim(0)
axes.set_xlabel("how late the last rank may begin (ms)")
axes.set_ylabel("time (ms)")
axes.legend(frameon=False)
lesson.show(axes, "A late rank makes the bar longer; the bytes are the same.")

# %% [markdown]
# ## Measured
#
# Two H200, a loop of PyTorch. The all-reduce takes 0.14 ms alone. In the profile it has a bar of
# more than a millisecond: nearly all of it is waiting, and looks like overlap.

# %%
lesson.measured(
    "h200_loops",
    "async_down_ar32.collective-gemm, async",
    "async_down_ar32.gemm-collective, async",
    node="h200-2",
)

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Move the skew.")
