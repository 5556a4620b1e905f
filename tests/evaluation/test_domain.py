"""What lies outside the calibrated domain, on the packaged boxes."""

import json
from importlib.resources import files

import c3sim
from c3sim.evaluation.domain import domains, outside
from c3sim.input.loading import load_hardware
from c3sim.specs.workload import Workload

NODE = load_hardware("h200-2").node
BOX = domains("h200-2")["gpu.gemm_libraries.cublas"]["bf16 GEMM"]
INSIDE = {"kind": "gemm", **{name: int(ends[1]) for name, ends in BOX.items()}}


def workload(**tasks: object) -> Workload:
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks})


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
    sixteen = load_hardware("h200-8").node.model_copy(update={"gpus": 16})
    assert outside(sixteen, workload(gather=gather)) == {"gather": "ranks 2 to 8, not 16"}


def test_a_node_that_is_not_packaged_and_a_library_without_calibration_say_nothing():
    other = NODE.model_copy(update={"name": "mine"})
    assert outside(other, workload(gemm={**INSIDE, "k": 2 * INSIDE["k"]})) == {}
    mi300x = load_hardware("mi300x-8").node
    copy = {"kind": "copy", "bytes": 1.0}
    assert outside(mi300x, workload(copy=copy)) == {}


def test_a_run_notes_it():
    """RCCL on MI300X was calibrated on all-reduces alone."""
    (note,) = [
        each for each in c3sim.run("gemm-beside-all-gather").notes if "calibrated domain" in each
    ]
    assert note == "gather lies outside the calibrated domain: no all_gather"
    assert not any("domain" in each for each in c3sim.run("gemm-alone").notes)


def test_the_file_is_small():
    """A run reads it: well under a millisecond."""
    text = (files("c3sim.hwmodels") / "domains.json").read_text(encoding="utf-8")
    assert len(text) < 20_000 and set(json.loads(text)) == {"schema", "nodes"}
