# %% [markdown]
# # 2. Launch order and rounds
#
# *Fifteen minutes.* A GEMM that is in the way can cost a whole collective.
#
# ## Question
#
# The GEMM, 8192 x 9216 x 8192, takes 1.9 ms alone and is launched first. The all-gather is launched
# right behind it, in another stream. How long does the all-gather wait before its first
# workgroup runs?

# %%
import math

from lesson import Lesson

import c3sim

lesson = Lesson(2)
guess = None  # ms

# %% [markdown]
# ## Run

# %%
PAIR, WIDE = "gemm-beside-all-gather", {"task.gemm.n": 9216}
first = c3sim.run(PAIR, strategy="base", set=WIDE)
lesson.guess(guess, first.tasks["gather"].room_s * 1e3, "ms")

# %% [markdown]
# ## Picture

# %%
lesson.show(first.plot(), "base: the GEMM is launched first, and the all-gather waits for room.")

# %%
second = c3sim.run(PAIR, strategy="sp", set=WIDE)
lesson.show(second.plot(), "sp: the all-gather is launched first, and both run at once.")

# %% [markdown]
# ## Why
#
# - A GEMM is cut into **tiles**. Each tile is a **workgroup**, and a workgroup fills a compute
#   unit.
# - The GPU gives out workgroups **in the order of launch**. Those of the all-gather stand behind
#   those of the GEMM.
# - One tile on every compute unit is a **round**. Nothing is thrown out of a unit before its tile
#   is done.
# - So the all-gather waits until all tiles of the GEMM have been given out: all rounds but one.

# %%
gemm = first.tasks["gemm"]
rounds = math.ceil(gemm.detail["tiles"] / 304)
print(f"{gemm.detail['tiles']} tiles on 304 compute units: {rounds} rounds")
print(f"{rounds - 1} of {rounds} rounds: {gemm.isolated_s * (rounds - 1) / rounds * 1e3:.2f} ms")
print(f"the model: {first.tasks['gather'].room_s * 1e3:.2f} ms")

# %% [markdown]
# The last round has to leave room where the channels begin: workgroups are dealt to groups of units
# (shader engines) in turn, and a full group whose turn it is lets nobody pass. Here 240 of 304
# units have a tile in the last round, and every group has room. The 8192 x 8192 of other lessons
# has 272, the group whose turn is first is full, and the all-gather waits for the whole GEMM.

# %%
square = c3sim.run(PAIR, strategy="base").tasks
print(f"n = 8192: GEMM {square['gemm'].isolated_s * 1e3:.2f} ms alone,", end=" ")
print(f"the all-gather waits {square['gather'].room_s * 1e3:.2f} ms")

# %% [markdown]
# The other order has a price too. Channels of the all-gather keep 56 compute units from its first
# to its last byte, and the GEMM gets fewer units and more rounds:

# %%
free = 304 - second.tasks["gather"].detail["channels"]
print(
    f"{gemm.detail['tiles']} tiles on {free} units: {math.ceil(gemm.detail['tiles'] / free)} rounds"
)
print(f"GEMM {second.tasks['gemm'].slowdown:.2f}x, wall {second.wall_s * 1e3:.2f} ms")

# %% [markdown]
# ## Measured
#
# Two H200. `default`: the GEMM is launched first. `priority_first`: the collective is, with a
# higher priority.

# %%
lesson.measured(
    "h200_c3",
    "8192x8192x8192 beside all_gather 256 MiB, default",
    "8192x8192x8192 beside all_gather 256 MiB, priority_first",
    node="h200-2",
)

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Pin this run, then change the strategy to sp.")
