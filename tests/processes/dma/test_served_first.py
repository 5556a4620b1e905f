"""Whose requests to memory are served first: those of engines, but reads from a peer."""

from __future__ import annotations

import pytest
from made_workload import run_of

from c3sim.simulation.run import Run
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node

COPY = {"kind": "copy", "bytes": 2**29, "gpus": "all", "mapping": "ipc"}
PUSH = {**COPY, "source": "gpu", "destination": "peer"}
PULL = {**COPY, "source": "peer", "destination": "gpu"}


def first(who: str) -> Node:
    node = load_node("h200-2")
    return node.changed(gpu__hbm__first=who)


def beside_a_stream(node: Node, copy: dict[str, object]) -> Run:
    """On all units, through 2 GiB."""
    tasks = {"stream": {"kind": "stream", "bytes": 2**30}, "copy": copy}
    return run_of(tasks, node)


def test_a_stream_loses_what_a_push_takes() -> None:
    """A stream on all units already has all that memory gives, W; the push takes e of it, reading
    and writing 0.38 TB/s each. So the stream gets W - e, within 5 %.
    """
    node = first("engines")
    most = 2**31 / run_of({"stream": {"kind": "stream", "bytes": 2**30}}, node).task("stream").end
    got = 2**31 / beside_a_stream(node, PUSH).task("stream").end
    assert got == pytest.approx(most - 2 * 0.38e12, rel=0.05)
    assert 2**31 / beside_a_stream(first("nobody"), PUSH).task("stream").end > 1.05 * got


def test_a_read_from_a_peer_is_not_first() -> None:
    """The stream feels it as anybody's, and it is slower itself: it keeps few bytes under way."""
    ends = [beside_a_stream(first(who), PULL).task("stream").end for who in ("engines", "nobody")]
    assert ends[0] == ends[1]
    run = beside_a_stream(first("engines"), PULL)
    assert run.task("copy").end > 1.1 * beside_a_stream(first("engines"), PUSH).task("copy").end
