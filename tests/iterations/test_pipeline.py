"""Schedules of a pipeline against their closed forms."""

from __future__ import annotations

from itertools import product

import pytest

from c3sim.iterations.pipeline import Pipe, Slot, Timeline, idle, order, timeline

F, B, W = 1.0, 1.2, 0.8  # s of a stage's forward pass, backward for its input, for its weights


def times(chunks: int = 1, beside: float | None = None) -> dict[str, float]:
    return {"F": F / chunks, "B": B / chunks, "W": W / chunks, "BW": (B + W) / chunks}


def run(pipe: Pipe, hop: float = 0.0, together: float = 1.0) -> Timeline:
    """*together*: of the times of two works that run beside each other."""
    each = times(pipe.chunks)

    def time(_gpu: int, slot: Slot) -> float:
        return sum(each[work.kind] for work in slot) * (together if len(slot) > 1 else 1.0)

    return timeline(pipe, time, lambda _from, _to: hop)


def bubbles(pipe: Pipe) -> list[float]:
    found = run(pipe)
    wall = max(found.end(gpu) for gpu in range(pipe.stages))
    return [pytest.approx(each) for each in idle(pipe, found, wall)]


@pytest.mark.parametrize(("stages", "batches"), [(2, 2), (4, 4), (4, 8), (8, 16)])
@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_one_forward_one_backward_fills_and_drains(
    schedule: str, stages: int, batches: int
) -> None:
    """(p - 1) / (m + p - 1) of the wall, for each stage: m turns, and p - 1 without work."""
    pipe = Pipe(schedule, stages, batches)  # type: ignore[arg-type]
    wall = (batches + stages - 1) * (F + B + W)
    assert bubbles(pipe) == [(stages - 1) / (batches + stages - 1) * wall] * stages


@pytest.mark.parametrize(("stages", "batches", "parts"), [(2, 4, 2), (4, 8, 2), (4, 8, 4)])
def test_interleaved_stages_divide_the_bubble(stages: int, batches: int, parts: int) -> None:
    pipe = Pipe("interleaved", stages, batches, parts)
    assert bubbles(pipe) == [(stages - 1) * (F + B + W) / parts] * stages


@pytest.mark.parametrize(("stages", "batches"), [(2, 4), (4, 8), (8, 16)])
def test_zero_bubble_fills_with_gradients_of_weights(stages: int, batches: int) -> None:
    """ZB-H1, table 2 of arXiv 2401.10241: (p - 1)(f + b - w), activations of p micro batches."""
    pipe = Pipe("zero_bubble", stages, batches)
    assert bubbles(pipe) == [(stages - 1) * (F + B - W)] * stages
    assert max(run(pipe).held) <= stages


@pytest.mark.parametrize(("stages", "batches"), [(4, 8), (8, 20)])
def test_two_directions_meet(stages: int, batches: int) -> None:
    """Table 2 of arXiv 2412.19437: (p / 2 - 1)(F&B + B - 3 W), B of both gradients; activations of
    p + 1 micro batches. What hides of a pair's time is gained on the longest way.
    """
    pipe = Pipe("dualpipe", stages, batches)
    assert bubbles(pipe) == [(stages / 2 - 1) * ((F + B + W) + (B + W) - 3 * W)] * stages
    assert max(run(pipe).held) <= stages + 1
    ends = [max(run(pipe, together=share).end(g) for g in range(stages)) for share in (1.0, 0.75)]
    assert ends[1] <= ends[0] - 0.25 * (F + B + W) * (batches - stages)


def test_memory_of_a_stage() -> None:
    """1F1B holds as many micro batches as stages follow; GPipe all."""
    assert run(Pipe("1f1b", 4, 8)).held == [4, 3, 2, 1]
    assert run(Pipe("gpipe", 4, 8)).held == [8] * 4


def test_every_micro_batch_is_done_once() -> None:
    for schedule, gpu in product(("gpipe", "1f1b", "interleaved", "dualpipe"), range(4)):
        pipe = Pipe(schedule, 4, 8, 2 if schedule == "interleaved" else 1)  # type: ignore[arg-type]
        works = [work for slot in order(pipe, gpu) for work in slot]
        for chunk in range(pipe.held):
            done = [w for w in works if w.chunk == chunk and w.kind in ("B", "BW")]
            assert [w.batch for w in done] == list(range(pipe.of_chunk))
            assert sum(w.kind == "F" for w in works if w.chunk == chunk) == pipe.of_chunk
        assert len({w for w in works}) == len(works)


def test_copies_between_stages_are_waited_for() -> None:
    """1F1B: of m micro batches and p stages the longest way has m - 1 + p - 1 copies each way."""
    wall = max(run(Pipe("1f1b", 2, 4), hop=0.1).end(gpu) for gpu in range(2))
    free = max(run(Pipe("1f1b", 2, 4)).end(gpu) for gpu in range(2))
    assert 0.2 < wall - free < 1.0
