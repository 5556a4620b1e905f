# %% [markdown]
# # 3. How many channels should a collective get?
#
# *Fifteen minutes.* A **channel** is a workgroup of a collective. It keeps a compute unit as long
# as the collective runs. More channels move more bytes, and take more units from the GEMM.
#
# ## Question
#
# An all-gather of 896 MiB beside a GEMM. With how many channels, between 1 and 112, is the wall
# time shortest?

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(3)
guess = None  # channels

# %% [markdown]
# ## Run

# %%
CHANNELS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112)
runs = {}
for channels in CHANNELS:
    settings = {"task.gather.channels": channels}
    runs[channels] = c3sim.run("gemm-beside-all-gather", strategy="sp", set=settings)
best = min(CHANNELS, key=lambda channels: runs[channels].wall_s)
lesson.guess(guess, best, "channels")
print(f"wall {runs[best].wall_s * 1e3:.2f} ms, with 8 channels {runs[8].wall_s * 1e3:.2f} ms")

# %% [markdown]
# ## Picture

# %%
axes = lesson.axes()
for task, words in (("gather", "all-gather"), ("gemm", "GEMM")):
    times = [run.tasks[task] for run in runs.values()]
    axes.plot(CHANNELS, [each.time_s * 1e3 for each in times], marker="o", label=f"{words}, both")
    axes.plot(CHANNELS, [each.isolated_s * 1e3 for each in times], ls="--", label=f"{words}, alone")
axes.set_xlabel("channels of the all-gather")
axes.set_ylabel("time (ms)")
axes.set_ylim(0, 12)
axes.legend(frameon=False, ncols=2)
lesson.show(
    axes, "More channels help until the links are full, and cost the GEMM little by little."
)

# %% [markdown]
# ## Why
#
# - A channel moves a few GB/s. So few channels make a slow collective.
# - From some number on the **links** are full. Further channels move nothing more. Here the library
#   takes no more than 56 of them, whatever it is allowed.
# - The GEMM pays for each channel in units, and beyond that in memory and cache.
# - The best number depends on who is **longer**. If it is the collective, give it what the links
#   can take. If it is the GEMM, give it just enough to stay hidden.

# %% [markdown]
# ## Measured
#
# Eight MI300X, an all-reduce of 512 MiB beside the same GEMM, by its number of channels.

# %%
lesson.measured(
    "c3_channels",
    "GEMM 8192^3 torch (hipBLASLt) beside all-reduce 512 MiB, at most 4 channels",
    "GEMM 8192^3 torch (hipBLASLt) beside all-reduce 512 MiB, at most 16 channels",
    "GEMM 8192^3 torch (hipBLASLt) beside all-reduce 512 MiB, at most 64 channels",
)

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Move the slider of the channels.")
