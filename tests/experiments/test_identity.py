"""The hash of the code, and names that become folders."""

import shutil
from pathlib import Path

import pytest
from sweep_case import STUDY, write

import c3sim
from c3sim.errors import InputErrors
from c3sim.experiments.setup import code_hash, hash_of_code
from c3sim.experiments.sweep import sweep
from c3sim.spec.reading.loading import load_study

PACKAGE = Path(c3sim.__file__).parent


def test_a_wheel_and_a_checkout_of_one_commit_have_one_hash(tmp_path):
    """A wheel has the data folders inside the package, a checkout beside it."""
    wheel = tmp_path / "c3sim"
    shutil.copytree(PACKAGE, wheel)
    for folder in ("hwmodels", "workloads", "validation"):
        shutil.copytree(
            PACKAGE.parent / folder, wheel / folder, ignore=shutil.ignore_patterns("data", "probe")
        )
    assert hash_of_code(wheel) == code_hash()
    (wheel / "engine" / "clock.py").write_text("# changed\n")
    assert hash_of_code(wheel) != code_hash()


@pytest.mark.parametrize("name", ["x/../../../home", "../up", "/tmp/x", "..", "", "a b", "-x"])
def test_a_study_is_called_like_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, STUDY.replace("name: small", f"name: {name!r}"))
    with pytest.raises(InputErrors, match=r"small.yaml:2: name: name .* is no file name"):
        sweep(path)
    assert [each.name for each in tmp_path.iterdir()] == ["small.yaml"]


def test_plain_names_are_fine(tmp_path):
    assert load_study(write(tmp_path, STUDY.replace("small", "C3_v2-x"))).name == "C3_v2-x"
