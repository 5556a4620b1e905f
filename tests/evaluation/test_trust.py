"""The nearest measured conditions: which cell, in what words, from a file that a tool writes."""

from __future__ import annotations

from importlib.resources import files

import pytest
from made_workload import workload_of

import c3sim
from c3sim.evaluation import trust
from c3sim.evaluation.trust import Cell, cells, nearest
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload
from c3sim.validation.compare.trust import errors_by_distance

NODE = load_node("mi300x-8")
GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**26}
SQUARE = {"m": (4096.0, 4096.0), "n": (4096.0, 4096.0), "k": (4096.0, 4096.0)}


def cell(suite: str, metric: str = "wall", node: str = NODE.name, **work: object) -> Cell:
    return Cell(
        node=node,
        gpu=NODE.gpu.name,
        suite=suite,
        metric=metric,
        count=8,
        median=0.04,
        p90=0.06,
        work={name.replace("_GEMM", " GEMM"): of for name, of in work.items()},
    )


ALONE = cell("alone", "isolated_gemm", bf16_GEMM=SQUARE)
REDUCE = cell("reduce", bf16_GEMM=SQUARE, all_reduce={"size": (2**20, 2**30), "ranks": (8, 8)})
SMALL = cell("small", bf16_GEMM=SQUARE, all_gather={"size": (2**20, 2**22), "ranks": (8, 8)})
LARGE = cell("large", bf16_GEMM=SQUARE, all_gather={"size": (2**25, 2**30), "ranks": (8, 8)})


def workload(**tasks: object) -> Workload:
    return workload_of(tasks)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch):
    def use(*found: Cell) -> None:
        monkeypatch.setattr(trust, "cells", lambda: found)

    return use


def suite_of(line: str) -> str:
    return line.rpartition("--suite ")[2]


def test_the_cell_that_holds_the_run_is_named_with_its_error(known):
    known(ALONE, REDUCE, SMALL, LARGE)
    assert nearest(NODE, workload(gemm=GEMM, gather=GATHER)) == (
        "nearest measurement: 8 runs of bf16 GEMM + all_gather on mi300x-8; wall time 4 % off in"
        " the median, 6 % at the 90th percentile; c3sim validate --suite large"
    )


def test_what_differs_is_said(known):
    """4 MiB at most there, 64 MiB here: four octaves; another collective counts as four as well."""
    known(SMALL)
    line = nearest(NODE, workload(gemm=GEMM, gather=GATHER))
    assert "(there size 1 MiB to 4 MiB); 4 octaves away" in line
    known(ALONE, REDUCE)
    line = nearest(NODE, workload(gemm=GEMM, gather=GATHER))
    assert "(there no all_gather)" in line and suite_of(line) == "reduce"
    line = nearest(NODE, workload(gemm={**GEMM, "m": 64, "n": 64, "k": 64}))
    assert "(there m 4096, n 4096, 1 more)" in line and suite_of(line) == "alone"


def test_what_differs_is_said_in_the_order_of_the_tasks():
    """Six kinds of work, whatever the order of a set of their names."""
    ops = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce")
    sizes = {op: 2.0 ** (40 + number) for number, op in enumerate(ops)}
    there = cell("all", **{op: {"size": (size, size)} for op, size in sizes.items()})
    work = {op: {"size": (1.0, 1.0)} for op in ops}
    beyond = [words for _, words in trust._beyond(work, there)]
    assert beyond == [f"size {2**number} TiB" for number in range(len(ops))]


def test_a_single_task_is_compared_with_tasks_alone(known):
    known(ALONE, LARGE, REDUCE)
    line = nearest(NODE, workload(gemm=GEMM))
    assert "; time alone 4 % off" in line and suite_of(line) == "alone"


def test_another_node_of_the_gpu_counts_and_another_gpu_does_not(known):
    other = cell("other", node="mi300x-4", bf16_GEMM=SQUARE)
    known(other)
    assert suite_of(nearest(NODE, workload(gemm=GEMM))) == "other"
    teaching = load_node("teaching-4")
    line = nearest(teaching, workload(gemm=GEMM))
    assert line.startswith("nearest measurement: none on ")


def test_changed_hardware_is_as_far_as_its_octaves(known):
    """Links of twice the bandwidth are one octave away from all that was measured."""
    known(LARGE)
    node = NODE.changed(links__bandwidth=2 * NODE.links.bandwidth)
    line = nearest(node, workload(gemm=GEMM, gather=GATHER))
    assert "; hardware nobody measured: 2 times links.bandwidth; 1 octaves away: so far" in line


def test_a_library_that_no_run_used_is_named():
    """Of NCCL's kernels on symmetric memory none was compared; of its others 72 pairs were."""
    node = load_node("h200-2")
    tasks = {"gemm": GEMM, "gather": {**GATHER, "backend": "nccl_symmetric"}}
    line = nearest(node, workload(**tasks))
    assert "(there no all_gather by nccl_symmetric)" in line and "; 4 octaves away" in line
    for usual in (GATHER, {**GATHER, "backend": "nccl"}):
        assert "by nccl" not in nearest(node, workload(gemm=GEMM, gather=usual))


def test_errors_are_counted_by_the_distance_to_another_suite():
    """From SMALL, 2^20 to 2^22 B, to LARGE, from 2^25 on, it is 5 octaves; back from 2^30 8."""
    far = errors_by_distance([SMALL, LARGE])
    assert [(each.least, each.suites, each.median) for each in far] == [
        (4.0, 1, 0.04),
        (8.0, 1, 0.04),
    ]


def test_a_step_has_the_line_too():
    result = c3sim.run("llama3-8b-forward", node="h200-2", set={"layers": 2})
    assert result.trust.startswith("nearest measurement: ")


def test_every_packaged_cell_can_be_shown():
    """A run reads the file: well under a millisecond; every suite is one that validate knows."""
    text = (files("c3sim.hwmodels") / "trust.json").read_text(encoding="utf-8")
    assert len(text) < 60_000 and len(cells()) > 50
    for each in cells():
        assert 0 <= each.median <= each.p90 and each.count > 0


def test_run_and_compare_have_the_line_and_sweeps_do_not_pay_for_it():
    result = c3sim.run("gemm-beside-all-gather")
    assert result.trust.startswith("nearest measurement: ") and len(result.trust) < 400
    assert result.to_dict()["trust"] == result.trust
