"""Counters of pairs on one H200: what two open gaps are not."""

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAIRS = ROOT / "validation" / "data" / "kernels" / "h200-cache-pairs.csv"
PAGE = (ROOT / "docs" / "cache-laboratory.md").read_text(encoding="utf-8")


def rows():
    with PAIRS.open(encoding="utf-8") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


ROWS = rows()


def number(case, column):
    return float(ROWS[case][column])


@pytest.mark.parametrize("mib", [16, 24, 32])
def test_a_reader_keeps_its_lines_beside_a_stream(mib):
    """What the pair reads beyond the copy alone is the reader's: as the page says, 1.3 % at most of
    what it loads, and nothing where the stream leaves first; its time differs all the same.
    """
    alone, plain = f"reader:{mib}", f"reader:{mib} beside copy"
    first = f"{plain} evict_first"
    lost = number(plain, "read_MB") - number("copy", "read_MB")
    assert lost / number(alone, "loaded_MB") < 0.0135
    assert abs(number(first, "read_MB") - number("copy evict_first", "read_MB")) < 0.5
    assert number(plain, "first_us") > 1.08 * number(first, "first_us")
    times = [round(number(each, "first_us")) for each in (alone, plain, first)]
    said = "| {} MiB | {} us | {} | {} | {:.0f} of {:.0f} MB | 0 |"
    assert said.format(mib, *times, lost, number(alone, "loaded_MB")) in PAGE


@pytest.mark.parametrize(("size", "more"), [(4096, 0.01), (8192, 0.04)])
def test_lines_set_aside_cost_a_product_time_and_no_bytes(size, more):
    plain, aside = f"gemm:{size}", f"gemm:{size} set aside"
    copy = " beside copy of 66"
    beside = number(aside + copy, "read_MB") - number("copy of 66 set aside", "read_MB")
    assert number(aside, "read_MB") == pytest.approx(number(plain, "read_MB"), rel=0.005)
    assert beside < (1.0 + more) * number(plain, "read_MB")
    assert number(aside + copy, "first_us") > 1.2 * number(plain + copy, "first_us")
