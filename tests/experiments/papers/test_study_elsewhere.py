"""Kind elsewhere: claims of another study on another node, with parts that it is lent."""

import pytest

from c3sim import study

pytestmark = pytest.mark.turns(5)

TEXT = """\
schema: 1
name: there
kind: elsewhere
table:
  - {study: t3, node: h200-8, claims: [t3_mca], borrowed: {t3-8: [%s]}}
"""
PARTS = "gpu.near_memory, gpu.hbm.update_cost, gpu.dma_engines.reduce_bandwidth"


def test_a_proposal_is_lent_and_its_published_figures_stand_beside(tmp_path):
    """H200 has no tracker; with that of t3-8 the published geomean of T3-MCA, 1.30, is compared."""
    file = tmp_path / "there.yaml"
    file.write_text(TEXT % f"{PARTS}, gpu.dma_engines.trigger_latency", encoding="utf-8")
    (row,) = study(str(file), band=False).rows
    claims = {each["claim"]: each for each in row.claims}
    one = claims["t3_mca, TP below 32, geomean"]
    assert one["published"] == [1.30, 1.30] and one["ours"] > 1 and one["standing"] == "first hand"
