"""Files are read once while they are the same, and again as soon as a byte differs."""

import os
from pathlib import Path

import pytest

import c3sim
from c3sim.errors import InputError, InputErrors
from c3sim.spec.reading import files, loading
from c3sim.spec.reading.files import kept
from c3sim.spec.reading.loading import load_hardware, load_node

NODE = "schema: 2\nlike: base.yaml\nname: n\n"
BASE = "schema: 2\nlike: teaching-4\nname: b\nlinks: {latency: {value: 1 us, source: me}}\n"
WORKLOAD = "schema: 1\nname: w\ntasks: {g: {kind: gemm, m: 256, n: 256, k: 256}}\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_kept", {})
    Path("n.yaml").write_text(NODE)
    Path("base.yaml").write_text(BASE)
    Path("w.yaml").write_text(WORKLOAD)


@pytest.fixture
def parsed(monkeypatch):
    """Names of files, each time one is parsed."""
    names, read = [], files.read_yaml

    def noting(text, file, errors):
        names.append(Path(file).name)
        return read(text, file, errors)

    monkeypatch.setattr(files, "read_yaml", noting)
    return names


def test_a_loop_of_runs_parses_each_file_once(parsed):
    walls = {
        c3sim.run("w.yaml", node="n.yaml", set={"gpu.clock.maximum": f"{clock} MHz"}).wall_s
        for clock in (500, 600, 700, 800)
    }
    assert len(walls) > 1
    assert sorted(parsed) == sorted(
        ["w.yaml", "n.yaml", "base.yaml", "teaching-4.yaml", "teaching.yaml"]
    )


def test_a_loop_of_runs_asks_once_whether_its_workload_is_an_iteration(monkeypatch):
    """That is looked up in every packaged file and in the workload's own."""
    asked = []
    monkeypatch.setattr(loading.library, "names", lambda kind: asked.append(kind) or ())
    for _ in range(3):
        c3sim.run("w.yaml", node="n.yaml")
    assert asked == ["iteration"]


def test_a_workload_that_was_not_there_is_found_once_it_is():
    """Nothing was read that could tell of a change, so nothing is kept."""
    for _ in range(2):
        with pytest.raises(InputError, match="does not exist"):
            c3sim.run("later.yaml", node="n.yaml")
    Path("later.yaml").write_text(WORKLOAD)
    assert c3sim.run("later.yaml", node="n.yaml").wall_s > 0


@pytest.mark.parametrize("file", ["n.yaml", "base.yaml"])
def test_a_change_in_any_file_is_seen_even_of_the_same_size_at_the_same_time(file):
    """Editors and scripts can be faster than the clock of a file system."""
    before = load_hardware("n.yaml")
    assert load_hardware("n.yaml") is before
    stat = os.stat(file)
    text = Path(file).read_text()
    Path(file).write_text(text.replace("name: n", "name: m").replace("1 us", "3 us"))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert os.stat(file).st_size == stat.st_size
    after = load_node("n.yaml")
    assert (after.name, after.links.latency) == (("m", 1e-6) if file == "n.yaml" else ("n", 3e-6))


def test_a_change_is_seen_through_what_was_kept_inside():
    def latency(name):
        return load_node(name).links.latency

    load_hardware("n.yaml")
    assert kept(latency, "n.yaml") == 1e-6
    Path("base.yaml").write_text(BASE.replace("1 us", "3 us"))
    assert kept(latency, "n.yaml") == 3e-6


def test_a_file_that_goes_away_is_an_error_again():
    load_hardware("n.yaml")
    Path("base.yaml").unlink()
    with pytest.raises(InputErrors, match=r"base\.yaml"):
        load_hardware("n.yaml")


def test_a_mistake_is_not_kept():
    Path("n.yaml").write_text("schema: 2\nlike: nothing\n")
    for _ in range(2):
        with pytest.raises(InputErrors, match="unknown node"):
            load_hardware("n.yaml")
    Path("n.yaml").write_text(NODE)
    assert load_node("n.yaml").name == "n"


def test_the_same_name_in_another_folder_is_another_file(tmp_path, monkeypatch):
    load_hardware("n.yaml")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    Path("n.yaml").write_text("schema: 2\nlike: teaching-4\nname: other\n")
    assert load_node("n.yaml").name == "other"


def test_only_so_many_are_kept(monkeypatch):
    monkeypatch.setattr(files, "MOST", 2)
    for name in ("a", "b", "c"):
        Path(f"{name}.yaml").write_text(f"schema: 2\nlike: teaching-4\nname: {name}\n")
        load_hardware(f"{name}.yaml")
    assert len(files._kept) == 2
