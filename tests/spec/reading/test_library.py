"""Packaged files by name, other files by path."""

import pytest

import c3sim.spec.reading.library
from c3sim.errors import InputError
from c3sim.spec.reading.library import find, names


def test_the_packaged_hardware_has_names():
    assert {"mi300x", "teaching"} <= set(names("gpu"))
    assert {"mi300x-8", "teaching-4"} <= set(names("node"))


@pytest.mark.parametrize("kind", ["gpu", "node", "workload", "study", "model"])
def test_every_name_is_found_and_sorted(kind):
    assert list(names(kind)) == sorted(set(names(kind)))
    assert all(find(kind, name).stem == name for name in names(kind))


def test_a_path_is_taken_as_it_is(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\n")
    assert find("workload", path) == path
    assert find("workload", str(path)) == path


def test_studies_and_workloads_share_a_folder(tmp_path, monkeypatch):
    """A study lists scenarios or axes; whatever else lies beside it is a workload made for it."""
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "sweep.yaml").write_text("schema: 1\naxes: {}\n")
    (tmp_path / "studies" / "pair.yaml").write_text("schema: 1\ntasks: {}\n")
    monkeypatch.setattr(c3sim.spec.reading.library, "files", lambda package: tmp_path)
    assert names("study") == ("sweep",)
    assert names("workload") == ("pair",)


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(InputError) as caught:
        find("node", tmp_path)
    assert (
        str(caught.value)
        == f"{str(tmp_path)!r} is not a file; give the path of a node file, or a name"
    )


def test_a_checkout_that_is_not_installed_is_told_what_to_do(monkeypatch):
    def not_installed(package):
        raise ModuleNotFoundError(package)

    monkeypatch.setattr(c3sim.spec.reading.library, "files", not_installed)
    with pytest.raises(InputError) as caught:
        names("node")
    assert (
        str(caught.value)
        == "package c3sim.hwmodels is not installed; in a checkout run: pip install -e ."
    )
