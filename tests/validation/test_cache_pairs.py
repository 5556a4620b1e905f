"""Counters of pairs on one H200: what two open gaps are not."""

import csv

import pytest
from places import ROOT

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


WAITS = PAIRS.with_name("h200-cache-waits.csv")


def waits():
    with WAITS.open(encoding="utf-8") as file:
        return {(row["kind"], row["first"], row["second"]): row for row in csv.DictReader(file)}


ALL_WAITS = waits()


@pytest.mark.parametrize("mib", [8, 16, 24, 32])
def test_times_of_a_reader_by_units_of_its_own_are_as_the_page_says(mib):
    beside = [f"{kind}{how}" for kind in ("copy", "read", "write") for how in ("", " first")]
    names = ["", *(f"{each} by 66" for each in beside)]
    times = [float(ALL_WAITS["reader", f"{mib} MiB by 66", each]["first_us"]) for each in names]
    assert f"| {mib} MiB | {' | '.join(f'{each:.0f}' for each in times)} |" in PAGE


def test_a_hit_waits_as_long_beside_a_stream_that_leaves_first():
    alone, beside = (
        float(ALL_WAITS["chase", "in L2 64 KiB", each]["mean_ns"])
        for each in ("", "copy first by 66")
    )
    assert beside < 1.25 * alone


@pytest.mark.parametrize("copy", ["copy by 66", "engine"])
def test_lines_set_aside_lengthen_the_slowest_loads(copy):
    """Beside a copy by units the median load from memory is no slower."""
    plain, aside = (
        ALL_WAITS["chase", "in memory 4 GiB", each] for each in (copy, f"{copy} set aside")
    )
    assert float(aside["p99_ns"]) > 2.5 * float(plain["p99_ns"])
    if copy != "engine":
        assert float(aside["p50_ns"]) < float(plain["p50_ns"])
    for row in (plain, aside):
        numbers = [f"{float(row[name]):.0f}" for name in ("mean_ns", "p50_ns", "p90_ns", "p99_ns")]
        assert f"| {' | '.join(numbers)}" in PAGE
