# %% [markdown]
# # 4. Copy engines or compute units?
#
# *Fifteen minutes.* A GPU has **copy engines** (DMA engines) beside its compute units. They move
# bytes and need no compute unit. Should all collectives run on them?
#
# ## Question
#
# An all-gather of 64 KiB takes 9 us on compute units. How many microseconds on copy engines?

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(4)
guess = None  # us

# %% [markdown]
# ## Run

# %%
SIZES = (2**-4, 2**-2, 1, 4, 16, 64, 256, 1024)  # MiB


def alone(size, backend):
    """Microseconds of an all-gather of *size* MiB."""
    settings = {"task.gather.size": f"{round(size * 1024)} KiB"}
    if backend == "engines":
        settings["task.gather.backend"] = "dma"
    return c3sim.run("all-gather-alone", set=settings).wall_s * 1e6


times = {backend: [alone(size, backend) for size in SIZES] for backend in ("units", "engines")}
lesson.guess(guess, times["engines"][0], "us")

# %% [markdown]
# ## Picture

# %%
left, right = lesson.axes(columns=2)
for (backend, each), mark in zip(times.items(), "os", strict=True):
    left.loglog(SIZES, each, marker=mark, label=f"on {backend}")
left.set_xlabel("size (MiB)")
left.set_ylabel("time alone (us)")
left.xaxis.set_major_formatter("{x:g}")
left.yaxis.set_major_formatter("{x:g}")
left.minorticks_off()
left.legend(frameon=False)
pair = {
    "units": c3sim.run("gemm-beside-all-gather", strategy="sp"),
    "engines": c3sim.run("gemm-beside-all-gather", strategy="conccl"),
}
for place, task in ((-0.2, "gemm"), (0.2, "gather")):
    slower = [each.tasks[task].slowdown for each in pair.values()]
    right.bar_label(right.bar([place, 1 + place], slower, 0.36, label=task), fmt="%.2f")
right.set_xticks([0, 1], [f"on {backend}" for backend in pair])
right.set_ylabel("slowdown, both at once")
right.set_ylim(0, 1.6)
right.legend(frameon=False, ncols=2)
lesson.show(left, "Engines are late for small messages, and gentle to the GEMM.")

# %% [markdown]
# ## Why
#
# - The host has to **write commands** for engines, and the engines have to fetch and decode them.
#   That takes tens of microseconds, whatever the size. A kernel does not have that cost.
# - Then engines move bytes at the rate of the links, as channels do.
# - Engines hold **no compute unit** and need no L2. What they still share with the GEMM is the
#   memory-side cache, memory and power.
# - Engines cannot **add**. An all-reduce needs compute units, unless a later engine can reduce.

# %% [markdown]
# ## Measured
#
# Two H200: the collective first on compute units, then on copy engines.

# %%
lesson.measured(
    "h200_c3",
    "8192x8192x8192 beside all_gather 1 GiB, priority_first",
    "8192x8192x8192 beside all_gather 1 GiB, dma_push",
    node="h200-2",
)

# %% [markdown]
# Eight MI300X, an all-gather of 512 MiB alone, on engines and on compute units.

# %%
lesson.measured(
    "dma_all_gather", "all-gather 512 MiB, one DMA engine per destination, one process per GPU"
)
lesson.measured("rccl_all_gather", "all-gather 512 MiB, RCCL, one process per GPU")

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Pin it, and change the strategy to sp.")
