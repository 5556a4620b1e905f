"""``c3sim upgrade``: rewrites old hardware files, or only tells."""

from __future__ import annotations

import json

import pytest
from loading_case import HWMODELS


@pytest.fixture
def old(tmp_path):
    """A GPU file without a schema, beside a node of schema 2."""
    text = (HWMODELS / "teaching.yaml").read_text(encoding="utf-8")
    file = tmp_path / "gpu.yaml"
    file.write_text(text.replace("schema: 2\n", "").replace("saturation_exponent", "softness"))
    node = (HWMODELS / "nodes" / "teaching-4.yaml").read_text(encoding="utf-8")
    (tmp_path / "node.yaml").write_text(node.replace("gpu: teaching", "gpu: gpu.yaml"))
    return file


def test_check_only_tells(cli, old):
    before = old.read_text(encoding="utf-8")
    result = cli("upgrade", "--check", str(old))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{old}: schema: 2",
        f"{old}: hbm.softness becomes saturation_exponent",
    ]
    assert old.read_text(encoding="utf-8") == before


def test_files_of_a_folder_are_rewritten_once(cli, old):
    node = old.with_name("node.yaml")
    assert cli("show", str(node)).exit_code == 2
    result = cli("upgrade", "--json", str(old.parent))
    assert result.exit_code == 0
    assert {name: len(changes) for name, changes in json.loads(result.stdout)["files"].items()} == {
        str(old): 2,
        str(node): 0,
    }
    assert cli("show", str(node)).exit_code == 0
    assert cli("upgrade", "--check", str(old)).stdout == f"{old}: is of schema 2 already\n"


def test_nothing_is_written_where_one_file_is_wrong(cli, old):
    before = old.read_text(encoding="utf-8")
    workload = old.with_name("w.yaml")
    workload.write_text("schema: 1\nname: w\ntasks: {}\n")
    result = cli("upgrade", str(old), str(workload))
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert "is not a hardware file of schema 1" in result.stderr
    assert old.read_text(encoding="utf-8") == before
