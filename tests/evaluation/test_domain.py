"""Figures outside the calibrated domain, on the packaged boxes."""

import json
import re
from dataclasses import replace
from importlib.resources import files

import pytest
from made_workload import workload_of

import c3sim
from c3sim.api import prepare
from c3sim.evaluation import trust
from c3sim.evaluation.trust import alone, domains, outside
from c3sim.spec.reading import library
from c3sim.spec.reading.loading import load_node, load_workload
from c3sim.spec.workload import Workload

NODE = load_node("h200-2")
BOX = domains("h200-2")["gpu.gemm_libraries.cublas"]["bf16 GEMM"]
INSIDE = {"kind": "gemm", **{name: int(ends[1]) for name, ends in BOX.items()}}


def workload(**tasks: object) -> Workload:
    return workload_of(tasks)


def test_a_box_holds_its_ends_and_nothing_beyond():
    assert outside(NODE, workload(gemm=INSIDE)) == {}
    beyond = {**INSIDE, "k": 2 * INSIDE["k"]}
    low, high = BOX["k"]
    assert outside(NODE, workload(gemm=beyond)) == {
        "gemm": f"k {low:g} to {high:g}, not {beyond['k']}"
    }


def test_a_data_type_without_a_record_is_outside():
    assert outside(NODE, workload(gemm={**INSIDE, "dtype": "fp16"})) == {"gemm": "no fp16 GEMM"}


def test_ranks_and_channels_of_a_collective_are_conditions():
    gather = {"kind": "collective", "op": "all_gather", "size": 2**28}
    assert outside(NODE, workload(gather=gather)) == {}
    sixteen = load_node("h200-8").changed(gpus=16)
    assert outside(sixteen, workload(gather=gather)) == {"gather": "ranks 2 to 8, not 16"}


def test_a_node_that_is_not_packaged_and_a_library_without_calibration_say_nothing():
    other = NODE.changed(name="mine")
    assert outside(other, workload(gemm={**INSIDE, "k": 2 * INSIDE["k"]})) == {}
    mi300x = load_node("mi300x-8")
    copy = {"kind": "copy", "bytes": 1.0}
    assert outside(mi300x, workload(copy=copy)) == {}


def test_a_run_notes_it():
    """RCCL on MI300X was calibrated on all-reduces alone."""
    (note,) = [
        each for each in c3sim.run("gemm-beside-all-gather").notes if "calibrated domain" in each
    ]
    alone = "measured alone two octaves away at most: 1 run, 0 % off in the median"
    assert note == (
        f"gather lies outside the calibrated domain: no all_gather; {alone}, suite rccl_all_gather"
    )
    assert not any("domain" in each for each in c3sim.run("gemm-alone").notes)


def test_records_alone_that_are_off_vouch_for_nothing(monkeypatch):
    """The laboratory passes over what ends in NEARBY; a task that is off alone stays a warning."""
    workload, node = prepare("all-gather-alone", None)
    assert alone(node, workload, "gather").startswith(f"{trust.NEARBY}: 1 run, 0 %")
    worse = tuple(replace(cell, median=0.3) for cell in trust.cells())
    monkeypatch.setattr(trust, "cells", lambda: worse)
    assert alone(node, workload, "gather").startswith(f"{trust.OFF_TOO}: 1 run, 30 %")


@pytest.mark.parametrize(
    ("size", "said"), [("2 GiB", True), ("2049 MiB", False), ("128 MiB", True), ("127 MiB", False)]
)
def test_what_was_measured_alone_is_said_up_to_two_octaves_away(size, said):
    """One all-gather of 512 MiB by RCCL was measured alone on MI300X that no fit had."""
    notes = c3sim.run("all-gather-alone", set={"task.gather.size": size}).notes
    (note,) = [each for each in notes if "calibrated domain" in each]
    assert (trust.NEARBY in note) == said
    assert ("the nearest measured alone lies 2.0 octaves away: 1 run, 0 % off" in note) != said


def test_what_was_never_measured_alone_says_so():
    workload, node = prepare("gemm-beside-all-to-all-across-nodes", None)
    assert alone(node, workload, "exchange") == trust.NOWHERE


@pytest.mark.parametrize("name", library.names("workload"))
def test_packaged_workloads_lie_inside_where_a_domain_exists(name):
    """Outside are operations and machines without any calibration record (RCCL's all-gathers, more
    than one node), shapes that are not ours to choose (layers of public models), and the GEMM of a
    study across nodes, which is as long as its all-to-all. GEMMs among them were measured alone.
    """
    workload = load_workload(name)
    node = load_node(workload.node)
    found = outside(node, workload)
    gemms = [task for task in found if workload.tasks[task].kind == "gemm"]
    assert all("% off in the median" in alone(node, workload, task) for task in gemms)
    beyond = set(found.values())
    without = {each for each in beyond if each.startswith(("no ", "ranks 8, not 128"))}
    of_model = re.search("llama", workload.source, re.IGNORECASE)
    assert beyond <= without or of_model or name == "gemm-beside-all-to-all-across-nodes"


def test_the_file_is_small():
    """A run reads it: well under a millisecond."""
    text = (files("c3sim.hwmodels") / "domains.json").read_text(encoding="utf-8")
    assert len(text) < 20_000 and set(json.loads(text)) == {"schema", "nodes"}


# Values set by hand, and nodes of one's own -------------------------------------------------------


def notes_of(**arguments):
    notes = c3sim.run("gemm-alone", **arguments).notes
    return [note for note in notes if "what-if" in note or "is like" in note]


def test_another_number_of_gpus_says_what_becomes_of_the_links():
    (note,) = notes_of(set={"gpus": 9})
    assert note.startswith("what-if, beyond what the node file vouches for: gpus 9 (file: 8)")
    assert note.endswith("a full mesh: 8 links per GPU")
    ring = notes_of(node="teaching-4", set={"gpus": 5})
    assert len(ring) == 1 and "mesh" not in ring[0]


def test_a_value_within_the_interval_of_its_file_says_nothing():
    """links.bandwidth of MI300X: 45.5 to 49.6 GB/s."""
    for inside in ("45.5 GB/s", "47 GB/s", "49.6 GB/s"):
        assert notes_of(set={"links.bandwidth": inside}) == []
    for beyond in ("45.4 GB/s", "96 GB/s"):
        (note,) = notes_of(set={"links.bandwidth": beyond})
        assert "(file: 45.5 GB/s to 49.6 GB/s)" in note


def test_a_value_without_an_interval_says_so_when_it_differs():
    assert notes_of(set={"gpu.hbm.bandwidth": "5.3 TB/s", "links.topology": "full_mesh"}) == []
    (note,) = notes_of(set={"hbm.bandwidth": "8 TB/s", "links.topology": "switch"})
    assert "gpu.hbm.bandwidth 8.00 TB/s (file: 5.30 TB/s)" in note
    assert "links.topology switch (file: full_mesh)" in note


def test_values_of_the_workload_are_no_what_if():
    assert notes_of(set={"task.gemm.m": 1024}) == []


def test_many_settings_are_a_short_note():
    energies = {f"gpu.energy.flop.{kind}": "90 pJ/flop" for kind in ("bf16", "fp16", "fp8", "fp32")}
    (note,) = notes_of(set=energies)
    assert note.endswith("and 1 more") and len(note) < 300


def test_comparisons_and_explanations_say_it_too():
    arguments = {"set": {"gpus": 9}}
    results = c3sim.compare("gemm-alone", strategies="base,as_written", **arguments)
    assert all(any("gpus 9" in note for note in result.notes) for result in results)
    said = c3sim.explain("gemm-alone", **arguments).notes
    assert any("gpus 9" in note for note in said)


def test_a_node_of_ones_own_that_is_like_another_is_not_checked(tmp_path):
    (tmp_path / "mine.yaml").write_text("schema: 2\nlike: mi300x-8\n")
    (note,) = notes_of(node=tmp_path / "mine.yaml")
    assert note == "mine is like mi300x-8; no measurement here checks where it differs"
    assert notes_of(node="h200-8") == notes_of(node="mi300x-cluster") == []
