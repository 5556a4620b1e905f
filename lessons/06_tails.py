# %% [markdown]
# # 6. Tails and awkward tile counts
#
# *Ten minutes.* A GEMM of 1184 tiles on 304 compute units takes four rounds: three full ones, and
# a last one, the **tail**.
#
# ## Question
#
# Somebody takes one single compute unit of the 304 away. How many per cent longer does the GEMM
# take?

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(6)
guess = None  # %

# %% [markdown]
# ## Run

# %%
UNITS = (304, 303, 302, 300, 296, 288, 272, 256, 240, 224, 208, 192, 176, 160)


def times(limit):
    """Times on fewer and fewer units, over that on 304, under a power limit in watts."""
    settings = {"gpu.clock.power_limit": f"{limit} W"}
    found = [
        c3sim.run("gemm-alone", set={**settings, "stream.compute.compute_units": units}).wall_s
        for units in UNITS
    ]
    return [each / found[0] for each in found]


limited, unlimited = times(750), times(3000)
lesson.guess(guess, 100 * (limited[1] - 1), "%")
print(f"without a power limit: {100 * (unlimited[1] - 1):.0f} %")

# %% [markdown]
# ## Picture

# %%
axes = lesson.axes()
axes.plot(UNITS, unlimited, marker="o", label="at the highest clock")
axes.plot(UNITS, limited, marker="s", label="with the limit of 750 W")
axes.plot(UNITS, [304 / units for units in UNITS], ls="--", label="if work could be cut at will")
axes.invert_xaxis()
axes.set_xlabel("compute units that the GEMM may use")
axes.set_ylabel("time, over that on 304 units")
axes.legend(frameon=False)
lesson.show(axes, "Time goes in steps, a round each; power takes a part of that back.")

# %% [markdown]
# ## Why
#
# - Time goes in **whole rounds**. A round with one tile takes nearly as long as a full one.
# - On 303 units 1184 tiles would still fit four rounds: 1184 / 303 = 3.91. The model needs five.
# - The reason is how tiles are given out. Shader engines take turns **in order**. If the one whose
#   turn it is has no free unit, all others wait, though they have some.
# - After that the curve is flat for a long time: the fifth round is paid, and has room.
# - The fifth round costs 22 % at the highest clock. With the limit of 750 W it is only 13 %: idle
#   units leave power to the others, whose clock rises (lesson 8).
# - A collective beside the GEMM does just this. It takes a few units, and costs a round.
#
# The size of the GEMM does it as well. The library picks the tile that fits best; teeth are what it
# cannot avoid:

# %%
columns = range(1024, 6145, 128)
rates = []
for n in columns:
    seconds = c3sim.run({"tasks": {"gemm": c3sim.gemm(4096, n, 8192)}}).wall_s
    rates.append(2 * 4096 * n * 8192 / seconds / 1e12)
axes = lesson.axes()
axes.plot(columns, rates)
axes.set_xlabel("n of a GEMM of 4096 x n x 8192")
axes.set_ylabel("TFLOP/s")
axes.set_ylim(0)
lesson.show(axes, "The rate has teeth: tiles fill the rounds better for one n than for the next.")

# %% [markdown]
# ## Measured
#
# Eight MI300X: the GEMM on fewer compute units, by a mask on its stream.

# %%
names = [f"GEMM 8192^3, torch (hipBLASLt), {units} CUs" for units in (304, 288, 272)]
lesson.measured("gemm_cu_sweep", *names)

# %% [markdown]
# Two H200: units that other workgroups hold. There, too, time goes in steps: 24 held units cost no
# more than 16.

# %%
lesson.measured(
    "h200_gemm_beside_holds",
    *(f"8192x8192x8192 of random data beside {held} held SMs" for held in (8, 16, 24, 32)),
)

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Set other numbers in: Any other parameter.")
