"""A file is written whole or not at all; a place that cannot be written is one line naming it."""

import os

import pytest

from c3sim.errors import InputError
from c3sim.kit import files
from c3sim.kit.files import check_writable, write_bytes, write_text


def test_what_is_written_is_read_back_and_nothing_else_is_left(tmp_path):
    write_text(tmp_path / "a.txt", "first")
    write_text(tmp_path / "a.txt", "second: 5 µs")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "second: 5 µs"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_check_leaves_the_place_as_it_was(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    assert check_writable(tmp_path / "a.txt") == tmp_path / "a.txt"
    check_writable(tmp_path / "new.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_failure_half_way_keeps_the_old_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "a.bin").write_bytes(b"old")
    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(InputError, match="no space left on device"):
        write_bytes(tmp_path / "a.bin", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]
    assert (tmp_path / "a.bin").read_bytes() == b"old"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    os.symlink(tmp_path / "real", tmp_path / "link")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("missing/a.txt", "no such file"),
        (".", "is a folder"),
        ("file/a.txt", "not a directory"),
        ("a\0b", "null"),
    ],
)
@pytest.mark.parametrize("attempt", [check_writable, lambda path: write_text(path, "x")])
def test_an_unwritable_place_is_one_line_with_path_and_what_is_allowed(
    tmp_path, place, reason, attempt
):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        attempt(tmp_path / place)
    text = str(caught.value)
    assert (
        text.startswith(str(tmp_path))
        and reason in text
        and "allowed: a file in an existing" in text
    )
    assert "\n" not in text


@pytest.mark.parametrize(("name", "said"), [("a.gif", "unknown suffix '.gif'"), ("a", "no suffix")])
def test_a_suffix_that_is_not_allowed(tmp_path, name, said):
    with pytest.raises(InputError, match=f"{said}; allowed: .png, .svg"):
        check_writable(tmp_path / name, (".png", ".svg"))
