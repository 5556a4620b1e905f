"""Collectives on DMA engines in steps of every form, and beside others that stay on units."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of

import c3sim

pytestmark = pytest.mark.turns(5)

#: Form of a step -> what it sets of a training step of Llama 3 8B on eight H200.
FORMS: dict[str, dict[str, Any]] = {
    "eager": {"launch": "eager"},
    "graph": {},
    "compiled": {"fused": True},
    "several groups": {"parallel": {"tp": 2, "dp_shard": 4}},
    "experts": {"model": "qwen3-30b-a3b", "parallel": {"dp_shard": 8, "ep": 8}},
    "pipeline": {"batch": 4, "parallel": {"pp": 2, "tp": 4, "micro_batches": 4}},
}


@pytest.mark.parametrize("form", FORMS)
def test_conccl_acts_on_every_form_of_step(form: str) -> None:
    """Both run, parts add up to the wall, and collectives take another time on engines (the wall
    does not, where the host binds it).
    """
    few = {
        "layers": 2 if form == "pipeline" else 1,
        "tokens": 512,
        "launch": "graph",
        **FORMS[form],
    }
    given = c3sim.run("llama3-8b-training", node="h200-8", set=few)
    moved = c3sim.run("llama3-8b-training", node="h200-8", set=few, strategy="conccl")
    for found in (given, moved):
        assert sum(found.parts.values()) == pytest.approx(found.wall_s, rel=1e-6)
    assert moved.communication_s != pytest.approx(given.communication_s, rel=1e-3)


def test_engines_of_one_group_share_links_with_units_of_another() -> None:
    """512 MiB of each: a GPU sends 7/8 of an all-gather and 7/4 of an all-reduce, 1.41 GB in all,
    over 18 links of 21.1 GB/s: 3.7 ms at least. Each is slower beside the other than alone.
    """
    size = {"kind": "collective", "size": "512 MiB"}
    tasks = {
        "weights": {**size, "op": "all_gather", "by": "engines", "stream": "data"},
        "sums": {**size, "op": "all_reduce", "algorithm": "ring", "stream": "tensor"},
    }
    workload = workload_of(tasks)
    found = c3sim.run(workload, node="h200-8")
    sent = (7 / 8 + 7 / 4) * 512 * 2**20
    assert found.wall_s > sent / (18 * 21.1e9)
    assert all(task.slowdown > 1.1 for task in found.tasks.values())
