"""The explicit package list forgets silently: it must equal the tree."""

import re
import runpy
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest
from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
SETUP = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
FOLDERS = {name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()}


def folder_of(package: str) -> Path:
    """The folder of the sources of *package*: the longest mapped name it begins with, then its own
    folders.
    """
    root = max((name for name in FOLDERS if f"{package}.".startswith(f"{name}.")), key=len)
    return FOLDERS[root].joinpath(*package[len(root) :].strip(".").split("."))


def packages_in_tree() -> set[str]:
    """Every folder that has Python files, as the package it is shipped as."""
    found = set()
    for name, root in FOLDERS.items():
        for file in root.rglob("*.py"):
            folder = file.parent.relative_to(root)
            if "__pycache__" not in folder.parts and "probe" not in folder.parts:
                found.add(".".join((name, *folder.parts)))
    return found


def test_the_package_list_is_the_tree():
    assert set(SETUPTOOLS["packages"]) == packages_in_tree()
    assert SETUPTOOLS["packages"] == sorted(SETUPTOOLS["packages"])


@pytest.mark.parametrize("package", SETUPTOOLS["packages"])
def test_every_package_has_an_init(package):
    """Without it, an editable install does not find the mapped folders."""
    assert (folder_of(package) / "__init__.py").is_file()


@pytest.mark.parametrize("package", ["c3sim.hwmodels", "c3sim.workloads", "c3sim.validation"])
def test_every_data_file_is_shipped(package):
    patterns = SETUPTOOLS["package-data"][package]
    root = folder_of(package)
    shipped = {path for pattern in patterns for path in root.glob(pattern)}
    data = {
        path
        for path in root.rglob("*")
        if path.is_file() and path.suffix in (".yaml", ".jsonl", ".md")
    }
    assert data <= shipped


@pytest.mark.parametrize("package", ["c3sim.output.page", "c3sim.lab"])
def test_every_part_of_a_page_is_shipped(package):
    root = folder_of(package)
    shipped = {
        path for pattern in SETUPTOOLS["package-data"][package] for path in root.glob(pattern)
    }
    parts = {path for path in (root / "parts").rglob("*") if path.is_file()}
    assert parts == shipped and {path.suffix for path in parts} >= {".css", ".js"}


@pytest.mark.parametrize("package", ["c3sim.hwmodels", "c3sim.workloads", "c3sim.validation"])
def test_data_is_found_as_users_find_it(package):
    assert files(package).joinpath("__init__.py").is_file()


def test_the_licence_is_there():
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_description_at_an_index_links_nowhere_into_the_tree():
    """There a link to docs/model.md leads nowhere; its words stay. Examples are no links."""
    text = SETUP["without_links"]((ROOT / "README.md").read_text(encoding="utf-8"))
    assert not re.findall(r"\]\((?!https?:)", text) and "<!--" not in text
    assert "how it works | the model, nomenclature, decisions |" in text


@pytest.mark.parametrize("text", ["[a](https://x.org/b)", "f(x)[1](2"])
def test_absolute_links_stay(text):
    assert SETUP["without_links"](text) == text


def test_records_of_a_wheel_are_unpacked_once(tmp_path, monkeypatch):
    """A wheel has them in one file; whoever asks first puts them into the user's cache."""
    from c3sim.validation.compare import record_files

    data = tmp_path / "data"
    (data / "of").mkdir(parents=True)
    (data / "of" / "a.jsonl").write_text("{}\n", encoding="utf-8")
    SETUP["pack"](data)
    assert [path.name for path in tmp_path.iterdir()] == ["records.zip"]
    monkeypatch.setattr(record_files, "PACKED", tmp_path / "records.zip")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = record_files.unpacked()
    assert (folder / "of" / "a.jsonl").read_text(encoding="utf-8") == "{}\n"
    monkeypatch.setattr(zipfile.ZipFile, "extractall", lambda *_: pytest.fail("again"))
    assert record_files.unpacked() == folder


def test_the_cited_version_is_one():
    """It is that of what is built without tags."""
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited and re.fullmatch(r"\d+\.\d+\.\d+", cited[1])


def test_every_name_is_stable_or_experimental():
    import typer

    import c3sim
    from c3sim.cli.app import app

    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `c3sim[^|]*\|(.*)\|(.*)\|$", page, re.M)
    python, commands = (re.findall(r"`(\w+)`", " ".join(row)) for row in rows)
    assert sorted(python) == sorted(c3sim.__all__)
    assert sorted(commands) == sorted(typer.main.get_command(app).list_commands(None))
