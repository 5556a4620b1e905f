# %% [markdown]
# # 10. A training step: what is exposed, and why
#
# *Twenty minutes.* Eight GPUs train Llama 3 8B. Each keeps an eighth of the weights (FSDP). In
# front of every layer the weights are gathered, behind it gradients are scattered.
#
# ## Question
#
# Communication alone takes 0.13 s of a step, computation 0.48 s. How many milliseconds of
# communication are **exposed**: run while nothing computes?

# %%
from lesson import Lesson

import c3sim

lesson = Lesson(10)
guess = None  # ms

# %% [markdown]
# ## Run

# %%
STEP, NODE = "llama3-8b-training", "mi300x-8"
result = c3sim.run(STEP, node=NODE)
lesson.guess(guess, result.overlap.exposed_s * 1e3, "ms")
print(f"compute alone {result.compute_s * 1e3:.0f} ms, wall {result.wall_s * 1e3:.0f} ms")
print(f"communication alone {result.communication_s * 1e3:.0f} ms")
print(f"stretched {result.overlap.stretched_s * 1e3:.0f} ms")

# %% [markdown]
# ## Picture

# %%
without = c3sim.run(STEP, node=NODE, set={"parallel.prefetch": 0})
axes = lesson.axes()
for name, step in (("one layer ahead", result), ("no prefetch", without)):
    start = 0.0
    parts = (step.compute_s, step.overlap.exposed_s, step.overlap.stretched_s)
    words = ("compute alone", "exposed", "stretched")
    for part, word, colour in zip(parts, words, ("#0072B2", "#E69F00", "#CC79A7"), strict=True):
        label = word if step is result else None
        axes.barh(name, part * 1e3, left=start * 1e3, color=colour, label=label)
        start += part
axes.set_xlabel("time of a step (ms)")
axes.set_ylim(1.5, -1.1)
axes.legend(frameon=False, ncols=3, loc="upper left")
lesson.show(axes, "Prefetching hides communication; what remains is exposed or stretches compute.")

# %%
shares = {name: each for name, each in result.overlap.classes.items() if each.busy_s > 0.001}
axes = lesson.axes()
places = list(range(len(shares)))
busy = [each.busy_s * 1e3 for each in shares.values()]
axes.barh(places, busy, label="runs")
only = [each.exposed_s * 1e3 for each in shares.values()]
axes.barh(places, only, 0.4, label="runs alone")
axes.set_yticks(places, list(shares))
axes.invert_yaxis()
axes.set_xlabel("time (ms)")
axes.legend(frameon=False, loc="lower right")
lesson.show(axes, "Communication runs for long, and hardly ever alone.")

# %% [markdown]
# ## Why
#
# - A layer's weights can be gathered **while the layer before it computes**. That is prefetch.
# - The first gather and the last scatter have nothing beside them. They stay exposed.
# - What is hidden is not free. It takes units, memory and power, and **stretches** compute.
# - So judge by the wall time. Less exposed and more stretched may be no gain.
# - 8B has much compute for its bytes. With short sequences or many GPUs there is less to hide
#   behind.

# %% [markdown]
# ## Measured
#
# Two H200 with PyTorch: layers of the same model, forward and training. Medians of a run, beside
# what was predicted before it was made (docs/predictions/h200-2-iterations-run1.jsonl).

# %%
lesson.measured_steps("llama8b-fsdp-forward-2x4096", "llama8b-fsdp-training-1x4096")

# %% [markdown]
# *Saved* is what both take one after the other, less the whole. In training two thirds of the
# communication are saved. In the forward pass nothing is, though its profile shows only 1.8 % of
# the step as exposed (docs/predictions/README.md). What was hidden has stretched compute: the false
# overlap of lesson 7, in a whole step. The model had predicted that 3.5 ms are saved there; it does
# not see all of what a hidden collective costs.
#
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Change batch, tokens, and how many layers ahead weights are gathered.")
