# %% [markdown]
# # 11. One kernel, three cache policies
#
# *Fifteen minutes.* A normalisation slides over channels: each of its workgroups loads a line when
# it enters a window of five channels, and loads it **again** when it leaves. In between it loads
# and stores other lines. Will a cache still have it?
#
# ## Question
#
# An L2 of 2048 lines. Loads are cached, stores go past it. With how many workgroups at once does
# the kernel still find its lines? And with stores cached as well?

# %%
from lesson import Lesson
from lines import counts, distance, most_workgroups

lesson = Lesson(11)
guess = None  # workgroups, stores cached as well

# %% [markdown]
# ## Run
#
# The **stack distance** of a load: how many other lines came since the last use of its line. A
# cache that replaces what was used longest ago has the line if fewer lines came than it holds.

# %%
for stores in (False, True):
    words = "loads and stores" if stores else "loads alone"
    fit = 2048 // (distance(stores) + 1)
    print(f"{words}: {distance(stores)} other lines in between, so {fit} workgroups fit")
lesson.guess(guess, most_workgroups(True), "workgroups")

# %% [markdown]
# ## Picture
#
# Every line followed, for each policy. A workgroup loads 14 lines that enter and 13 that leave, two
# of which never entered; so 11 of 27 loads are second ones, and 41 % is all that a cache can find.

# %%
AT_ONCE = (8, 12, 24, 32)
axes = lesson.axes()
print(f"uncached: {100 * counts('uncached', 12).found:.0f} % of the loads found")
for policy, words in (("cache_r", "loads cached"), ("cache_rw", "loads and stores cached")):
    found = [100 * counts(policy, each).found for each in AT_ONCE]
    axes.plot(AT_ONCE, found, marker="o", label=words)
for stores in (False, True):
    axes.axvline(most_workgroups(stores), ls=":", color="grey")
axes.set_xlabel("workgroups at once")
axes.set_ylabel("loads found in L2 (%)")
axes.legend(frameon=False)
lesson.show(axes, "Found up to where the distances of all workgroups fill the L2 (dotted).")

# %% [markdown]
# ## Why
#
# - One workgroup needs as many lines as it touches between the two loads. All that run at once need
#   that each. When together they need more than the L2 has, each line leaves just before it is
#   wanted: **all or nothing**.
# - Stored lines are never loaded again here. Cached, they take half of the room and give nothing.
#   So caching loads helps, and caching stores takes that help away again.
# - Another kernel's stores are a gather's input, or meet in L2 before they leave. So no policy is
#   best for all. A **reuse predictor** learns for each instruction whether its lines are found
#   again, and lets those of the stores pass.
# - More workgroups hide more latency, and make the cache smaller for each.

# %% [markdown]
# ## Measured
#
# Two H200: a kernel that reads 32 MiB of an L2 of 60 MiB over and over (first), beside one
# that streams (second). In the second pair the stream tells L2 that its lines may leave first.

# %%
lesson.measured(
    "h200_policies_stress", "reuse:32 beside memory", "reuse:32 beside memory+cs/cs", node="h200-2"
)

# %% [markdown]
# The reader gains, but is it for the reason above? It is not all or nothing: a profiler counted
# that it keeps 98.7 % of its lines or more in both pairs. A few lost lines seem to make its slowest
# warps wait ([what was counted](../docs/cache-laboratory.md#results-that-others-use)). The model of
# whole runs has the reader keep all of them, and says that nothing is gained: an open gap.

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Say task.gather.cache.memory_side=bypass, and look at what the GEMM gains.")
