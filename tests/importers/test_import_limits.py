"""Logs that are too large, oddly written, or full of nothing."""

import gzip
import time
import tracemalloc
from pathlib import Path

import pytest

from c3sim import validation
from c3sim.errors import InputError, InputErrors
from c3sim.importers import files, find_target, import_file
from c3sim.spec.reading.records import load_records

TARGET, _ = find_target("mi300x-8", "validation", "", {})
TRACE = (
    "Kernel_Name,Start_Timestamp,End_Timestamp,Queue_Id\n"
    "Cijk_Ailk_Bljk,1000,5000,1\nother,6000,8000,2\n"
)


def imported(path, data, **how):
    path.write_bytes(data)
    return import_file(path, "auto", TARGET, **how)


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_of_other_systems(tmp_path, end):
    plain = imported(tmp_path / "a.csv", TRACE.encode())
    found = imported(tmp_path / "a.csv", TRACE.replace("\n", end).encode())
    assert found.kernels == plain.kernels and len(found.kernels) == 2


def test_a_cell_of_any_length_is_read(tmp_path):
    """csv refuses cells of more than 131,072 characters by itself."""
    found = imported(tmp_path / "a.csv", TRACE.replace("other", "x" * 200_000).encode())
    assert max(len(kernel.name) for kernel in found.kernels) == 200_000


def test_a_cell_beyond_all_names_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("c3sim.importers.values.LONGEST_CELL", 100)
    with pytest.raises(InputError, match=r"a.csv: field larger than field limit \(100\)"):
        imported(tmp_path / "a.csv", TRACE.replace("other", "x" * 101).encode())


@pytest.mark.parametrize("blank", ["\n", " \n", "#\n", "\t", " " * 9])
def test_blank_lines_cost_no_more_than_others(tmp_path, blank):
    """Patterns that span lines took 17 s for 16,000 blank ones: the square of their number."""
    began = time.monotonic()
    with pytest.raises(InputError, match="in no known format"):
        imported(tmp_path / "a.txt", b"text\n" + blank.encode() * 100_000 + b"text\n")
    assert time.monotonic() - began < 5


def test_a_gzip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "USUAL", 2**20)
    bomb = gzip.compress((b"# size count type".ljust(1000) + b"\n") * 1100)
    with pytest.raises(InputError, match=r"a.gz: more than 1 MiB of text.*--yes"):
        imported(tmp_path / "a.gz", bomb)
    imported(tmp_path / "a.gz", bomb, large=True)
    monkeypatch.setattr(files, "MOST_LINES", 100)
    with pytest.raises(InputError, match="more than 100 lines"):
        imported(tmp_path / "a.txt", b"\n" * 101 + b"x")


def test_a_record_whose_loop_has_no_numbers_is_one_line(tmp_path):
    """``"%s%n"`` for a time went as far as the comparison, and ended it."""
    source = Path(validation.__file__).parent / "data" / "h200" / "power-run1.jsonl"
    with source.open(encoding="utf-8") as stream:
        line = next(each for each in stream if '"iteration_us"' in each)
    value = line.split('"iteration_us":')[1].lstrip().split(",")[0].split("}")[0]
    path = tmp_path / "r.jsonl"
    path.write_text(
        line.replace(f'"iteration_us":{value}', '"iteration_us":"%s%n"', 1).replace(
            f'"iteration_us": {value}', '"iteration_us": "%s%n"', 1
        )
    )
    with pytest.raises(InputErrors) as caught:
        load_records(path)
    assert str(caught.value).endswith(
        "r.jsonl:1: observed.energy.iteration_us: got '%s%n'; must be a number greater than 0"
    )


def test_a_packed_log_is_unpacked_piece_by_piece(tmp_path):
    """16 MiB of blanks, in 16 KiB of gzip, with an umlaut on each border of two pieces: wider
    blanks are narrowed, so that a few MiB are held.
    """
    umlauts = (" " * (files.PIECE - 1) + "ü") * 16
    packed = tmp_path / "wide.gz"
    packed.write_bytes(gzip.compress(umlauts.encode()))
    tracemalloc.start()
    try:
        text, fault = files.read_log(packed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text.split() == ["ü"] * 16 and fault == ""
    assert len(text) < 16 * 200 and peak < 8 * files.PIECE


@pytest.mark.parametrize("read", [files.read_log, files.read_unpacked])
def test_what_is_too_large_is_refused_before_it_is_held(read, tmp_path, monkeypatch):
    """64 MiB, 63 of which are allowed: none of them is kept."""
    monkeypatch.setattr(files, "USUAL", 2**20)
    monkeypatch.setattr(files, "most_text", lambda large: 63 * 2**20)
    packed = tmp_path / "bomb.gz"
    packed.write_bytes(gzip.compress(bytes(64 * 2**20)))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="more than 63 MiB"):
            read(packed, large=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * files.PIECE
