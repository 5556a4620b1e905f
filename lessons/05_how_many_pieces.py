# %% [markdown]
# # 5. Pieces: how many, and when none
#
# *Fifteen minutes.* The GEMM needs what the all-gather brings. As a whole it has to wait for all
# of it. In **pieces** the first part of the GEMM begins when the first part has come.
#
# ## Question
#
# An all-gather of 512 MiB takes 1.6 ms, the GEMM behind it 1.7 ms. Which number of pieces gives the
# shortest wall time: 1, 2, 4, 8, 16 or 32?

# %%
from lesson import Lesson
from pieces import in_pieces

lesson = Lesson(5)
guess = None  # pieces

# %% [markdown]
# ## Run
#
# `in_pieces` stands in `pieces.py`: an all-gather with `chunks`, and a GEMM `after` each chunk.

# %%
PIECES = (1, 2, 4, 8, 16, 32)
large = {pieces: in_pieces(pieces, 512) for pieces in PIECES}
small = {pieces: in_pieces(pieces, 64) for pieces in PIECES}
lesson.guess(guess, min(PIECES, key=lambda pieces: large[pieces].wall_s), "pieces")

# %% [markdown]
# ## Picture

# %%
lesson.show(large[4].plot(), "Four pieces: each GEMM begins when its chunk has come.")

# %%
left, right = lesson.axes(columns=2)
for axes, runs, size in ((left, large, 512), (right, small, 64)):
    axes.plot(PIECES, [run.wall_s * 1e3 for run in runs.values()], marker="o", label="wall time")
    work = [
        sum(task.isolated_s for task in run.tasks.values() if task.kind == "gemm")
        for run in runs.values()
    ]
    axes.plot(PIECES, [each * 1e3 for each in work], ls="--", label="all GEMMs alone")
    axes.set_xscale("log", base=2)
    axes.set_xticks(PIECES, PIECES)
    axes.set_ylim(0, 3.6)
    axes.set_xlabel(f"pieces; all-gather of {size} MiB")
left.set_ylabel("time (ms)")
right.legend(frameon=False, loc="lower left")
lesson.show(
    left, "Pieces hide the all-gather, and make the GEMM longer: what wins depends on size."
)

# %% [markdown]
# ## Why
#
# - **What is gained** is at most the shorter of the two. With *p* pieces a *p*-th of the all-gather
#   stays exposed, so two pieces give half of it, four a quarter more.
# - **What is lost** is efficiency. A GEMM of fewer rows has fewer tiles, its last round is emptier
#   (lesson 6), and small pieces of a collective pay their latency again and again.
# - The first pieces gain most, and later ones cost most. So the best number is **small**.
# - If the collective is short, nothing is worth hiding: **one piece** is best.
# - GEMM pieces and channels use the same compute units. They also slow each other down.

# %% [markdown]
# ## Measured
#
# Two H200 with PyTorch: a GEMM that waits for an all-gather, as a whole (`serial`) and in 2, 4, 8
# equal pieces. Copy engines gain most with four. NCCL gains with none: each call costs again, and
# finds the units full when the GEMM before it has begun. More: docs/pieces.md.

# %%
for carrier in ("dma", "nccl"):
    names = [f"uniform-fused-1d-{pieces}" for pieces in (2, 4, 8)]
    found = (f"balanced, {each}, by {carrier}" for each in ("serial", *names))
    lesson.measured("h200_pieces", *found)

# %% [markdown]
# ## Exercise

# %%
answer = None
lesson.check(answer)

# %%
lesson.lab("Change the size of the all-gather.")
