"""What a study file may say of its kind."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from c3sim.specs.study import Study

PAIR = {"schema": 1, "name": "mine", "workload": "c3-pair"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"outputs": ["c3"]}, "'c3': no column of a point; write instead kind: c3"),
        (
            {"outputs": ["wall_s", "c3", "auto", "band"]},
            "'c3', 'auto', 'band': no column of a point; "
            "write instead kind: c3; pool: NAME (the study of other pairs)",
        ),
        ({"outputs": ["dma_variants"]}, "write instead kind: dma_variants"),
        ({"kind": "kv_fetch"}, "serving and kind: kv_fetch belong together"),
        ({"kind": "operator_shares"}, "iterations and kind: operator_shares or training_overlap"),
        (
            {"kind": "training_overlap", "iterations": ["bert-large-training"]},
            "a study of iterations has no workload; leave it out",
        ),
        ({"nodes": ["mi300x-8"]}, "nodes are for kind: operator_shares, training_overlap, chann"),
        ({"pool": "conccl-pool"}, "pool and band are for kind: c3 and keep_or_stream"),
        ({"kind": "c3", "band": {"skip": ["third"]}}, "band.skip: 'third' is no scenario"),
        (
            {"kind": "dma_variants", "outputs": ["wall_s"]},
            "kind: dma_variants has tables of its own; leave outputs out",
        ),
    ],
)
def test_what_does_not_fit_the_kind_is_told(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Study.model_validate({**PAIR, **fields})
    assert message in str(caught.value)


def test_a_study_without_kind_is_a_sweep() -> None:
    assert Study.model_validate(PAIR).kind == "sweep"
