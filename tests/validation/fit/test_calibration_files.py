"""A calibration as YAML, and put into the files of a node."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from c3sim.errors import InputError
from c3sim.spec.reading.library import find
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.reading.write import node_text
from c3sim.spec.sourced import in_file_units
from c3sim.validation.compare.record_files import load
from c3sim.validation.fit.calibrate import calibrate
from c3sim.validation.fit.calibration import to_dict, to_yaml, write_calibration

pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]


def copy_of_the_node(folder: Path) -> Path:
    """The node's two files, to be changed."""
    root = Path(str(files("c3sim.hwmodels")))
    shutil.copy(root / "mi300x.yaml", folder / "gpu.yaml")
    text = (root / "nodes" / "mi300x-8.yaml").read_text(encoding="utf-8")
    node = folder / "node.yaml"
    node.write_text(text.replace("\ngpu: mi300x\n", "\ngpu: gpu.yaml\n"), encoding="utf-8")
    return node


FP8 = Path(str(files("c3sim.validation"))) / "data/published/mi300x/gemm_fp8.jsonl"
SOME = load([FP8])[::15]
FEED = "gpu.gemm_libraries.ck_blockscale.operand_feed"
EPILOGUE = "gpu.gemm_libraries.ck_blockscale.epilogue"


def test_writing_changes_value_and_calibrated_and_nothing_else(tmp_path):
    node = copy_of_the_node(tmp_path)
    before = {
        name: (tmp_path / name).read_text(encoding="utf-8") for name in ("gpu.yaml", "node.yaml")
    }
    old = load_hardware(node).provenance
    found = calibrate(node, SOME, "gemm_fp8")
    # a fit alone writes nothing
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in before} == before
    write_calibration(found, node, "2030-01-02")
    (group,), new = found.groups, load_hardware(node).provenance
    fitted, leaf = group.fit.parameters[0], new[FEED]
    assert leaf.value == pytest.approx(fitted.value, rel=5e-3)
    assert (leaf.source, leaf.note, leaf.interval, leaf.fitted) == (
        old[FEED].source,
        old[FEED].note,
        old[FEED].interval,
        "gemm_fp8",
    )
    fit = leaf.calibrated
    assert (fit.date, fit.records, fit.data) == ("2030-01-02", len(group.records), group.hash)
    assert fit.residual == pytest.approx(group.median_residual, rel=0.05)
    assert fit.interval == pytest.approx((fitted.low, fitted.high), rel=5e-3)
    assert new.keys() == old.keys()
    assert [key for key in new if new[key].calibrated != old[key].calibrated] == [FEED, EPILOGUE]
    assert (tmp_path / "node.yaml").read_text(encoding="utf-8") == before["node.yaml"]


def test_what_a_fit_leaves_open_loses_the_claim_and_keeps_its_value(tmp_path):
    """``calibrated`` goes and ``fitted`` comes back; a fit that can tell it turns them round."""
    node = copy_of_the_node(tmp_path)
    found = calibrate(node, SOME, "gemm_fp8")
    (group,) = found.groups
    open_ones = tuple(replace(each, identified=False) for each in group.fit.parameters)
    left_open = replace(group.fit, parameters=open_ones)
    nothing = replace(found, groups=(replace(group, fit=left_open),))
    before = load_hardware(node).provenance[FEED]
    write_calibration(nothing, node, "2030-01-02")
    leaf = load_hardware(node).provenance[FEED]
    assert leaf.calibrated is None and leaf.fitted == "gemm_fp8" and leaf.value == before.value
    assert write_calibration(calibrate(node, SOME, "gemm_fp8"), node, "2030-01-03")
    assert load_hardware(node).provenance[FEED].calibrated.date == "2030-01-03"


def test_nothing_is_written_into_files_of_c3sim_but_into_a_node_written_out(tmp_path):
    """A node of one's own that is like mi300x-8 would else change it for everybody."""
    own = tmp_path / "own.yaml"
    own.write_text("schema: 2\nlike: mi300x-8\nname: mi300x-8\n", encoding="utf-8")
    packaged = find("gpu", "mi300x").read_bytes()
    found = calibrate(own, SOME, "gemm_fp8")
    with pytest.raises(InputError, match=r"is a file of c3sim .* --resolved"):
        write_calibration(found, own, "2030-01-02")
    assert find("gpu", "mi300x").read_bytes() == packaged
    whole = tmp_path / "whole.yaml"
    whole.write_text(node_text(load_hardware(own), "whole"), encoding="utf-8")
    written = write_calibration(calibrate(whole, SOME, "gemm_fp8"), whole, "2030-01-02")
    assert [Path(file).name for file in written] == ["whole.yaml"]
    assert load_hardware(whole).provenance[FEED].calibrated.date == "2030-01-02"


def test_the_yaml_has_provenance():
    found = calibrate("mi300x-8", SOME, "gemm_fp8")
    data = yaml.safe_load(to_yaml(found, "2030-01-02"))
    assert data == to_dict(found, "2030-01-02")
    (group,) = data["groups"]
    assert group["records"] == len(found.groups[0].records) and len(group["data"]) == 16
    assert {"residual_median", "residual_p90", "fitted"} <= set(group)
    assert data["date"] == "2030-01-02" and data["validation_records_left_out"] > 0


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("gpu.hbm.bandwidth", 5.2967e12, "5.3 TB/s"),
        ("gpu.energy.flop.bf16", 1.12345e-12, "1.12 pJ/flop"),
        ("gpu.hbm.read_efficiency", 0.92949, "0.929"),
        ("collective_libraries.rccl.slice_bytes", 28571.3, "28600 B"),
        ("collective_libraries.rccl.launch_latency", 0.0, "0 us"),
    ],
)
def test_values_are_written_with_three_digits_in_the_unit_of_the_file(path, value, text):
    leaf = load_hardware("mi300x-8").provenance[path]
    assert in_file_units(leaf, value) == text


def test_no_record_of_a_gemm_beside_a_collective_may_be_fitted_to():
    for record in load():
        kinds = {task.kind for task in record.workload.tasks.values()}
        assert record.role == "validation" or not {"gemm", "collective"} <= kinds
