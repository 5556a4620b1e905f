"""Copies over a link whose other direction is busy too."""

from __future__ import annotations

import pytest
from made_workload import run_of
from shapes import TEACHING

from c3sim.spec.hardware import Node

COPY = {"kind": "copy", "bytes": "100 MB", "executor": "kernel", "workgroups": 14}


def answering(share: float) -> Node:
    """Two of the teaching GPUs, a link of 10 GB/s between them, *share* of a byte for each."""
    return TEACHING.changed(links__reverse_share=share, gpus=2)


def moving(node: Node, gpus: str) -> float:
    """Seconds of a copy to the next GPU, by the *first* or by *all*, between 2 us for its launch
    and 1 us for its end.
    """
    return run_of({"c": {**COPY, "gpus": gpus}}, node).end - 3e-6


def test_one_direction_alone_has_all_of_a_link() -> None:
    """100 MB at 10 GB/s."""
    assert moving(answering(0.25), "first") == pytest.approx(10e-3, rel=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_both_directions_give_up_what_answers_take(share: float) -> None:
    """x + share x = 10 GB/s each way: 8 GB/s where an answer takes a fourth."""
    assert moving(answering(share), "all") == pytest.approx(10e-3 * (1 + share), rel=1e-6)
