"""A calibration as YAML, and put into the files of a node."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from c3sim.input.loading import load_hardware
from c3sim.validation.compare.record_files import data_hash, load
from c3sim.validation.fit.calibrate import _shared, calibrate, groups
from c3sim.validation.fit.calibration_text import in_file_units, to_dict, to_yaml
from c3sim.validation.fit.calibration_write import write_calibration

pytestmark = pytest.mark.slow


def copy_of_the_node(folder: Path) -> Path:
    """The node's two files, to be changed."""
    root = Path(str(files("c3sim.hwmodels")))
    shutil.copy(root / "mi300x.yaml", folder / "gpu.yaml")
    text = (root / "nodes" / "mi300x-8.yaml").read_text(encoding="utf-8")
    node = folder / "node.yaml"
    node.write_text(text.replace("\ngpu: mi300x\n", "\ngpu: gpu.yaml\n"), encoding="utf-8")
    return node


def test_writing_changes_value_and_source_and_nothing_else(tmp_path):
    node = copy_of_the_node(tmp_path)
    before = {
        name: (tmp_path / name).read_text(encoding="utf-8") for name in ("gpu.yaml", "node.yaml")
    }
    found = calibrate(node, [each for each in load() if each.suite == "gemm_fp8"][::5], "gemm_fp8")
    assert {
        name: (tmp_path / name).read_text(encoding="utf-8") for name in before
    } == before  # only when told
    write_calibration(found, node, "2030-01-02")
    path = "gpu.gemm_libraries.ck_blockscale.operand_feed"
    loaded, old = load_hardware(node), load_hardware("mi300x-8")
    fitted = found.groups[0].fit.parameters[0]
    assert loaded.provenance[path].value == pytest.approx(fitted.value, rel=5e-3)
    assert loaded.provenance[path].source.startswith("calibrated 2030-01-02 on ")
    assert loaded.provenance[path].interval == old.provenance[path].interval
    changed = [
        key
        for key, leaf in loaded.provenance.items()
        if (leaf.value, leaf.note) != (old.provenance[key].value, old.provenance[key].note)
    ]
    assert changed in ([], [path])
    assert (tmp_path / "node.yaml").read_text(encoding="utf-8") == before["node.yaml"]
    write_calibration(
        calibrate(node, list(found.groups[0].records), "gemm_fp8"), node, "2030-01-03"
    )
    assert load_hardware(node).provenance[path].source.count("calibrated") <= 1 + old.provenance[
        path
    ].source.count("calibrated 20", 1)


def test_the_yaml_has_provenance():
    found = calibrate(
        "mi300x-8", [each for each in load() if each.suite == "gemm_fp8"][::5], "gemm_fp8"
    )
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


def test_the_values_of_the_h200_were_fitted_to_the_records_that_are_packaged():
    """Each fitted value names a hash of its data; values that the data left open keep the note of
    their start.
    """
    records = [record for record in load() if record.role == "calibration"]
    named, four = 0, load_hardware("h200-4")
    for group in groups(load_hardware("h200-2")):
        nodes = (
            {"h200-2", "h200-4"} if _shared(group, four) else {"h200-2"}
        )  # libraries: any number of ranks
        data = data_hash(
            [record for record in records if record.suite in group.suites and record.node in nodes]
        )
        for path, leaf in group.leaves.items():
            if leaf.source.startswith("calibrated"):
                named += 1
                assert f"(data {data})" in leaf.source, path
    assert named > 15


def test_no_record_of_a_gemm_beside_a_collective_may_be_fitted_to():
    for record in load():
        kinds = {task.kind for task in record.workload.tasks.values()}
        assert record.role == "validation" or not {"gemm", "collective"} <= kinds
