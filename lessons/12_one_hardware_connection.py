# %% [markdown]
# # 12. One hardware connection: why it helps tensor parallel and hurts FSDP
#
# *Fifteen minutes.* Streams share hardware queues: eight of CUDA (`CUDA_DEVICE_MAX_CONNECTIONS`),
# four of HIP (`GPU_MAX_HW_QUEUES`). A queue is served in launch order. The kernel in front waits
# for what it depends on, and everything behind it waits too, of whatever stream.
#
# ## Question
#
# Megatron tells its users to set one connection for tensor parallel, and not to with FSDP. How many
# per cent **longer** does a step in shards (FSDP) take with one queue than with eight?

# %%
from lesson import Lesson
from queues_of_streams import sharded, tensor
from records import behind_two_kernels

lesson = Lesson(12)
guess = None  # %

# %% [markdown]
# ## Run

# %%
one, eight = sharded(1), sharded(8)
lesson.guess(guess, 100 * (one / eight - 1), "%")
for queues in (1, 2, 8):
    step, pair = sharded(queues) * 1e3, tensor(queues) * 1e6
    print(f"{queues} queues: step in shards {step:.0f} ms, gather beside products {pair:.0f} us")

# %% [markdown]
# ## Picture

# %%
axes = lesson.axes()
counts = (1, 2, 4, 8)
for name, times in (("step in shards", sharded), ("tensor parallel", tensor)):
    walls = [times(count) / times(8) for count in counts]
    axes.plot([str(count) for count in counts], walls, marker="o", label=name)
axes.set_xlabel("hardware queues")
axes.set_ylabel("wall time, by that of eight")
axes.legend(frameon=False)
lesson.show(axes, "One queue makes one of them quicker, and the other one slower.")

# %% [markdown]
# ## Why
#
# - **Tensor parallel.** An all-gather is launched right before a product that does not need it.
#   With a queue each, which one a GPU takes up first is open. On some rank the product comes first
#   and fills the GPU; there the all-gather waits for room, and those of *all* ranks wait for it.
#   One queue makes the order of launches that of starts.
# - **FSDP.** In the forward pass the host launches the all-gather of a layer behind the kernels of
#   the layer before it. In a queue of its own it runs beside them, since the host is ahead. In the
#   only queue it begins when they have all begun, and the next layer waits for the whole of it. In
#   the backward pass it is launched early, waits in its stream for the reduce-scatter before it,
#   and stands in front of a layer that could compute.
# - So one queue is good where the launch order is the order that you want, and bad where a stream
#   was made so that something may pass. `parallel.forward_prefetch=true` launches forward gathers
#   early, which gives half of the loss back. With two queues the copy of a shard into its buffer
#   stands in that of the products; three give the step in shards all that eight give.

# %% [markdown]
# ## Measured
#
# One NVIDIA H200: a kernel behind two others of another stream, which run one after the other
# (validation/data/kernels, decision 87). In one queue it waits for the second of them to begin,
# although its own stream has nothing before it.

# %%
for connections, waited in behind_two_kernels().items():
    print(f"{connections:>2} connections: measured {waited:5.1f} us until it had begun")

# %% [markdown]
# Steps in shards on two H200: one connection costs 5 to 6 % of a training step of four layers, and
# 11 % of a forward pass of six; the model says 3 and 9.
#
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Set workload.host.queues to 2, then to 8, and look at what a gather holds up.")
