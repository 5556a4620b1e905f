# %% [markdown]
# # 9. What would a link, a cache, an engine more change?
#
# *Twenty minutes.* Somebody designs the next node, and may improve one thing. Which one? That
# depends on who carries the bytes. Designing both together is **co-design**.
#
# ## Question
#
# Links get a quarter faster. By how many per cent does that shorten the pair when the all-gather
# runs on copy engines?

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(9)
guess = None  # %

# %% [markdown]
# ## Run

# %%
PAIR = "gemm-beside-all-gather"
LINKS = {"links.bandwidth": "60.6 GB/s", "links.raw_bandwidth": "80 GB/s"}
ENGINES = {"gpu.dma_engines.bandwidth": "63.5 GB/s", "gpu.dma_engines.bytes_in_flight": "125 kB"}
CHANGES = {
    "links x 1.25": LINKS,
    "engines x 1.25": ENGINES,
    "links and engines x 1.25": LINKS | ENGINES,
    "memory x 1.25": {"gpu.hbm.bandwidth": "6.6 TB/s"},
    "cache x 2": {"gpu.memory_side_cache.capacity": "512 MiB"},
    "dies 8 to 10": {"gpu.dies.count": 10},
    "power x 1.25": {"gpu.clock.power_limit": "937 W"},
}


def shorter(strategy, changes):
    """Per cent by which *changes* shorten the pair."""
    before = c3sim.run(PAIR, strategy=strategy).wall_s
    return 100 * (1 - c3sim.run(PAIR, strategy=strategy, set=changes).wall_s / before)


gains = {
    strategy: {name: shorter(strategy, changes) for name, changes in CHANGES.items()}
    for strategy in ("sp", "conccl")
}
lesson.guess(guess, gains["conccl"]["links x 1.25"], "%")

# %% [markdown]
# ## Picture

# %%
axes = lesson.axes(height=3.8)
names = {"sp": "all-gather on compute units", "conccl": "all-gather on copy engines"}
for shift, (strategy, words) in zip((-0.2, 0.2), names.items(), strict=True):
    places = [index + shift for index in range(len(CHANGES))]
    drawn = axes.barh(places, list(gains[strategy].values()), 0.38, label=words)
    shown = [f"{each:.1f}".replace("-0.0", "0.0") for each in gains[strategy].values()]
    axes.bar_label(drawn, shown, padding=3)
axes.set_yticks(range(len(CHANGES)), list(CHANGES))
axes.invert_yaxis()
axes.margins(x=0.12)
axes.set_xlabel("shorter by (%)")
axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)
lesson.show(axes, "One change helps one way of running the pair, and not the other.")

# %% [markdown]
# ## Why
#
# - Ask what the **longer** task waits for. Only that can shorten the pair.
# - On engines the all-gather is the longer one. Faster links help until the engines are the limit.
#   An engine moves 50.8 GB/s at most, hardly more than a link, and has only 100 kB on the way at a
#   time. Only both together help fully.
# - A larger cache, more dies and more memory shorten the GEMM, which hides anyway.
# - On compute units both want the same units, memory and watts. There nearly everything helps a
#   little. More power helps both tasks.
# - More dies at the same power have a lower clock (lesson 8).

# %%
COUNTS = range(1, 15)
walls = [
    c3sim.run(PAIR, strategy="conccl", set={"gpu.dma_engines.count": count}).wall_s * 1e3
    for count in COUNTS
]
axes = lesson.axes()
axes.plot(COUNTS, walls, drawstyle="steps-mid", marker="o")
axes.set_xlabel("copy engines of a GPU")
axes.set_ylabel("wall time (ms)")
axes.set_ylim(0)
lesson.show(axes, "Engines help in steps: one copy to a peer is one command of one engine.")

# %% [markdown]
# ## Measured
#
# Nobody can measure a node that does not exist. What can be measured is that the model has today's
# links right, and is right for a reason. Two H200, all-gathers of 1 GiB on engines and on channels,
# where the first is bound by engines and the second by channels and links.

# %%
lesson.measured(
    "h200_c3",
    "8192x8192x8192 beside all_gather 1 GiB, dma_pull",
    "8192x8192x8192 beside all_gather 1 GiB, channels8",
    "8192x8192x8192 beside all_gather 1 GiB, channels16",
    node="h200-2",
)

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("The machine's sliders go from an eighth to eight times today's value.")
