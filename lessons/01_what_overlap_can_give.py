# %% [markdown]
# # 1. What overlap can give
#
# *Fifteen minutes.* A GPU multiplies matrices (a GEMM). Meanwhile the GPUs of the node exchange
# data (an all-gather). Both at once take less time than one after the other. How much less?
#
# ## Question
#
# Alone, the GEMM takes 1.7 ms and the all-gather 2.7 ms. Both begin at once. After how many
# milliseconds have both ended? Guess before you run it.

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(1)
guess = None  # ms

# %% [markdown]
# ## Run

# %%
PAIR = "gemm-beside-all-gather"
result = c3sim.run(PAIR, strategy="base")
lesson.guess(guess, result.wall_s * 1e3, "ms")
ideal = result.overlap.ideal_s
print(f"one after the other {result.serial_s * 1e3:.2f} ms, ideal {ideal * 1e3:.2f} ms")

# %% [markdown]
# ## Picture

# %%
results = c3sim.compare(PAIR, strategies="base,sp,conccl")
bars = {"one after the other": result.serial_s, "ideal": ideal}
bars |= {each.strategy: each.wall_s for each in results}
axes = lesson.axes()
drawn = axes.barh(list(bars), [each * 1e3 for each in bars.values()], color="#0072B2")
fractions = ["0 %", "100 %", *(f"{100 * each.fraction_of_ideal:.0f} %" for each in results)]
axes.bar_label(drawn, fractions, padding=4)
axes.invert_yaxis()
axes.set_xlabel("wall time (ms); behind each bar: fraction of ideal")
axes.margins(x=0.12)
lesson.show(axes, "Three ways to run the same pair, between no overlap and the ideal.")

# %% [markdown]
# ## Why
#
# - **The ideal** is the longer of the two: the shorter one hides behind it. So the speedup is at
#   most (T_g + T_c) / max(T_g, T_c). It is never more than 2.
# - **The fraction of ideal** says how much of that was reached: 0 is one after the other, 1 is the
#   ideal. It is (speedup - 1) / (ideal speedup - 1).
# - `base` reaches nothing. The two do not share the machine; one waits for the other. Lesson 2
#   says why.
# - `conccl` passes 100 %: its all-gather runs on copy engines, which here are quicker than the
#   all-gather on compute units that the ideal is taken from.
#
# What could be gained depends on the two times alone:

# %%
sizes = range(112, 1345, 112)  # MiB
runs = [c3sim.run(PAIR, set={"task.gather.size": f"{size} MiB"}) for size in sizes]
axes = lesson.axes()
axes.plot(sizes, [each.ideal_speedup for each in runs], marker="o")
axes.set_xlabel("size of the all-gather (MiB)")
axes.set_ylabel("ideal speedup")
axes.set_ylim(1, 2.05)
lesson.show(axes, "Overlap could gain most where both take equally long.")

# %% [markdown]
# ## Measured
#
# Two H200, the same GEMM, an all-gather of 1 GiB: as a framework launches it, with the collective
# first, and on copy engines.

# %%
lesson.measured(
    "h200_c3",
    "8192x8192x8192 beside all_gather 1 GiB, default",
    "8192x8192x8192 beside all_gather 1 GiB, priority_first",
    "8192x8192x8192 beside all_gather 1 GiB, dma_push",
    node="h200-2",
)

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Move the size of the all-gather, and watch the fraction of ideal.")
