# %% [markdown]
# # 8. Clock and power: nobody is alone
#
# *Fifteen minutes.* A GPU has a power limit. A large GEMM reaches it alone. So whoever runs beside
# it takes power from it, and with the power the clock.
#
# ## Question
#
# An all-gather on copy engines shares no compute unit with the GEMM. By how many per cent is the
# GEMM slower beside it?

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(8)
guess = None  # %

# %% [markdown]
# ## Run

# %%
PAIR = "gemm-beside-dma-all-gather"
result = c3sim.run(PAIR, trace=True)
lesson.guess(guess, 100 * (result.tasks["gemm"].slowdown - 1), "%")
for cause, share in c3sim.explain(PAIR).tasks["gemm"].causes.items():
    if share >= 0.005:
        print(f"{100 * share:+.1f} % by {cause}")

# %% [markdown]
# ## Picture

# %%
clock = next(each for each in result.trace.counters if each.name == "gpu0.clock")
axes = lesson.axes()
times = [*(time * 1e3 for time in clock.times), result.wall_s * 1e3]
clocks = [each / clock.maximum for each in (*clock.values, clock.values[-1])]
axes.step(times, clocks, where="post")
end = result.tasks["gemm"].end_s * 1e3
axes.axvline(end, color="#888888", ls="--")
axes.set_xlabel("time (ms); dashed: the GEMM ends")
axes.set_ylabel("clock (1 is the highest)")
axes.set_ylim(0, 1.1)
lesson.show(axes, "The GEMM runs at a lower clock; when it has ended, the clock is free.")

# %%
LIMITS = (450, 500, 600, 750, 900, 1050, 1200)
both = [c3sim.run(PAIR, set={"gpu.clock.power_limit": f"{limit} W"}) for limit in LIMITS]
axes = lesson.axes()
for words, field in (("GEMM alone", "isolated_s"), ("GEMM beside the all-gather", "time_s")):
    axes.plot(LIMITS, [getattr(run.tasks["gemm"], field) * 1e3 for run in both], "o-", label=words)
axes.set_xlabel("power limit (W)")
axes.set_ylabel("time of the GEMM (ms)")
axes.set_ylim(0)
axes.legend(frameon=False)
lesson.show(axes, "Less power, a longer GEMM; and the less there is, the more a neighbour costs.")

# %% [markdown]
# ## Why
#
# - Power grows with the clock **and** with the voltage that a faster clock needs. So a fifth more
#   power gives much less than a fifth more clock.
# - At the limit every watt of the all-gather (links, memory, caches) is missing for the GEMM.
# - A faster part elsewhere makes a hotter GPU. It can make the whole no faster.
# - So "alone" is a state too. A GEMM after a pause, one in a loop, and one on zeros differ.

# %% [markdown]
# ## Measured
#
# Two H200: one GEMM, three times. Zeros cost little power. After a pause the limit does not hold
# yet. At the limit the same GEMM takes 30 % longer than on zeros.

# %%
lesson.measured(
    "h200_clock",
    "8192^3 of zero data after a pause",
    "8192^3 of random data after a pause",
    "8192^3 of random data at the power limit",
)

# %% [markdown]
# Power was measured on H200 only. Energies of MI300X are estimates, so its watts are as well.
#
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Move the power limit.")
