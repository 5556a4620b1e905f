"""Domains from the records of fits."""

import runpy

import pytest
from made_records import GATHER, GEMM, record
from places import ROOT

from c3sim.validation.compare.record_files import load
from c3sim.validation.fit.domains import derive, text

RCCL, HIPBLASLT = "collective_libraries.rccl", "gpu.gemm_libraries.hipblaslt"


def gemm(k: int, suite: str = "gemm_cu_sweep", role: str = "calibration"):
    return record({"gemm": {**GEMM, "k": k}}, {"isolated": {"gemm": 1.0}}, suite=suite, role=role)


def test_a_box_is_what_the_records_of_the_suites_named_span():
    """Fits of hipblaslt name gemm_cu_sweep. Other suites and rows of role validation do not
    count.
    """
    records = [gemm(512), gemm(2048), gemm(64, "mine"), gemm(9999, role="validation")]
    box = derive(records)["mi300x-8"][HIPBLASLT]["bf16 GEMM"]
    assert box == {"m": [4096, 4096], "n": [4096, 4096], "k": [512, 2048]}


def test_nodes_that_share_the_file_share_the_records():
    domains = derive([gemm(512)])
    assert domains["mi300x-cluster"] == domains["mi300x-8"]
    assert "h200-2" not in domains


def test_a_collective_has_size_ranks_and_the_channels_that_it_gets():
    gather = {**GATHER, "op": "all_reduce", "channels": 500}
    one = record({"r": gather}, {"isolated": {"r": 1.0}}, suite="rccl_channels", role="calibration")
    box = derive([one])["mi300x-8"][RCCL]["all_reduce"]
    assert box == {"size": [2**28, 2**28], "ranks": [8, 8], "channels": [56, 56]}


@pytest.mark.slow
def test_the_packaged_file_is_fresh():
    """If not: python tools/domains.py."""
    file = runpy.run_path(str(ROOT / "tools" / "domains.py"))["FILE"]
    assert file.read_text(encoding="utf-8") == text(derive(load()))
