"""Writes the time from one kernel to the next: in a CUDA graph, in one stream, and by turns in two
streams that wait for each other's events. All are launched ahead, behind a kernel that sleeps.

    python -m validation.frameworks.kernel_gaps gaps.csv
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median

import torch

from .timing import launched, span

KERNELS, SLEEP, TURNS = 40, 6_000_000, 7
SIZES = (1 << 16, 1 << 22, 1 << 26)  # elements of 4 B


def queue(x: torch.Tensor, streams: list[torch.cuda.Stream]) -> None:
    """Launch the kernels, by turns in *streams*, each behind the one before it."""
    for number in range(KERNELS):
        here, before = streams[number % len(streams)], streams[(number - 1) % len(streams)]
        if here is not before:
            here.wait_stream(before)
        with torch.cuda.stream(here):
            torch.neg(x, out=x)


def recorded(x: torch.Tensor, stream: torch.cuda.Stream) -> Callable[[], None]:
    """The same as a graph."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        queue(x, [stream])
    replay: Callable[[], None] = graph.replay
    return replay


def joined(again: Callable[[], None], streams: list[torch.cuda.Stream]) -> None:
    """Launch all behind the current stream, which then waits for them."""
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    again()
    for stream in streams:
        torch.cuda.current_stream().wait_stream(stream)


def held(again: Callable[[], None], streams: list[torch.cuda.Stream]) -> None:
    """Launch all behind a sleep, so that the host is ahead."""
    torch.cuda._sleep(SLEEP)
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    again()


def by_events(again: Callable[[], None], streams: list[torch.cuda.Stream]) -> float:
    """Microseconds of all kernels, without a profiler; the least of TURNS."""
    found: list[float] = []
    for _ in range(TURNS):
        torch.cuda.synchronize()
        torch.cuda._sleep(SLEEP)
        found.append(span(lambda: joined(again, streams)))
    return min(found)


def traced(again: Callable[[], None], streams: list[torch.cuda.Stream]) -> list[tuple[str, float]]:
    """Gaps and kernels in a profiler's trace [us]."""
    found = launched(lambda: held(again, streams))
    kernels = [(e["ts"], e["dur"]) for e in found if "neg" in e["name"]]
    gaps = [after[0] - before[0] - before[1] for before, after in pairwise(kernels)]
    usual = median(time for _, time in kernels)
    return [
        ("gap us least", min(gaps)),
        ("gap us median", median(gaps)),
        ("kernel us median", usual),
    ]


def main(path: str) -> None:
    rows: list[tuple[str, int, str, float]] = []
    for size in SIZES:
        x = torch.zeros(size, device="cuda")
        one, two = torch.cuda.Stream(), torch.cuda.Stream()
        for what, streams in (("graph", [one]), ("one stream", [one]), ("two streams", [one, two])):
            queue(x, streams)
            torch.cuda.synchronize()
            again = recorded(x, one) if what == "graph" else partial(queue, x, streams)
            rows.append((what, size, f"by events, {KERNELS} kernels us", by_events(again, streams)))
            rows += [(what, size, name, value) for name, value in traced(again, streams)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("what", "elements", "quantity", "value"))
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1])
