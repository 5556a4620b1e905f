"""Results that hold for one object: whose they are, and how many are kept."""

from __future__ import annotations

import pytest

from c3sim.models import latest
from c3sim.models.gemm import plan_gemm
from c3sim.models.hierarchy import collective_plan
from c3sim.models.latest import OWNERS, OfLatest, for_latest
from c3sim.simulation.reads import watched
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Collective, Gemm

NODE = load_node("mi300x-8")


def test_an_owner_is_known_by_its_identity() -> None:
    """An equal node is another one; results of a few owners are there at once."""
    known: OfLatest[int] = OfLatest()
    equal = NODE.model_copy()
    known.of(NODE)["a"] = 1
    assert equal == NODE and known.of(equal) == {} and known.of(NODE) == {"a": 1}
    others = [NODE.model_copy() for _ in range(OWNERS)]
    assert all(known.of(other) == {} for other in others)
    assert known.of(NODE) == {}  # four have come since


def test_results_of_one_owner_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latest, "MOST", 2)
    known: OfLatest[int] = OfLatest()
    known.of(NODE).update(a=1, b=2)
    assert known.of(NODE) == {}


def test_a_function_of_an_owner_is_asked_once_for_each_of_the_latest() -> None:
    """Two owners are remembered, each by its identity, and every further argument."""
    asked: list[float] = []

    @for_latest(2)
    def bandwidth(node: Node, times: float) -> float:
        asked.append(times)
        return times * node.links.bandwidth

    once = NODE.links.bandwidth
    assert [bandwidth(NODE, times) for times in (1.0, 2.0, 1.0)] == [once, 2 * once, once]
    assert asked == [1.0, 2.0]
    others = [NODE.model_copy(), NODE.model_copy()]
    assert [bandwidth(other, 1.0) for other in others] == [once, once]
    assert len(asked) == 4
    bandwidth(NODE, 1.0)  # two have come since
    assert len(asked) == 5


def test_a_plan_is_made_once_for_a_node() -> None:
    """Whatever the task waits for; a node whose reads are watched is read."""
    gather = Collective(kind="collective", op="all_gather", size=2.0**20)
    behind = gather.changed(after=("other",))
    assert collective_plan(NODE, gather) is collective_plan(NODE, behind)
    gemm = Gemm(kind="gemm", m=512, n=512, k=512)
    assert plan_gemm(NODE.gpu, gemm) is plan_gemm(NODE.gpu, gemm.changed(stream="s"))
    seen, reads = watched(NODE)
    assert collective_plan(seen, gather) == collective_plan(NODE, gather)
    assert plan_gemm(seen.gpu, gemm) == plan_gemm(NODE.gpu, gemm)
    assert {"gpu", "links", "collective_libraries"} <= reads.inner.keys()
