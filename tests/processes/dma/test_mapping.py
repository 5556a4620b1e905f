"""Who carries a pull: the source's engine; for memory of another process, the reader's own."""

from __future__ import annotations

import pytest
from made_workload import run_of

from c3sim.spec.reading.loading import load_node


@pytest.mark.parametrize(("mapping", "owner"), [("peer", "gpu1"), ("ipc", "gpu0"), (None, "gpu1")])
def test_the_gpu_that_carries_a_pull(mapping: str | None, owner: str) -> None:
    """GPU 0 of two H200 reads from GPU 1; the spans of engines say which one worked."""
    copy = {"kind": "copy", "bytes": 2**24, "source": "peer", "destination": "gpu"}
    if mapping:
        copy["mapping"] = mapping
    run = run_of({"pull": copy}, load_node("h200-2"), trace=True)
    assert {span.owner for span in run.timeline.spans if span.row.startswith("dma")} == {owner}
