"""What the law of improvements leaves out: numbers that a run does not read."""

from __future__ import annotations

import pytest
from law_cases import CASES
from law_nodes import scaled
from law_reads import numbers_read

from c3sim.simulation.simulate import simulate

SAMPLE = ("gemm", "all_gather", "copy to a peer by DMA", "stream")


@pytest.mark.parametrize("name", SAMPLE)
def test_a_run_reads_what_moves_it_and_nothing_else_moves_it(name: str) -> None:
    (case,) = (case for case in CASES if str(case) == f"teaching-4: {name}")
    plain = simulate(case.node, case.workload).end
    end, read = numbers_read(case.node, lambda node: simulate(node, case.workload).end)
    assert end == plain
    others = scaled(case.node, lambda path, _unit: 1.0 if path in read else 2.0)
    these = scaled(case.node, lambda path, _unit: 2.0 if path in read else 1.0)
    assert others != case.node and simulate(others, case.workload).end == plain
    assert simulate(these, case.workload).end != plain
