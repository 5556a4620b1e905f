"""Small grammars of workload files: dependencies, the order of tasks, CU masks."""

import pytest

from c3sim.errors import InputError
from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.workload import After, parse_after

NO_DEPENDENCY = (
    "is not a dependency; write task, task.tiles[25%], task.tiles[peer 1] or task.chunk[0]"
)

# The workload alone
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("gemm", After(task="gemm")),
        ("gemm.tiles[25%]", After(task="gemm", tiles=0.25)),
        ("gather.chunk[2]", After(task="gather", chunk=2)),
        ("gemm.tiles[peer 1]", After(task="gemm", peer=1)),
    ],
)
def test_after_names_a_task_a_share_of_tiles_or_a_chunk(text, after):
    assert parse_after(text) == after


# CU masks -----------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize(
    ("mask", "bits"),
    [
        (None, range(304)),
        (8, range(8)),
        ("0-271,280", [*range(272), 280]),
        ("7, 3-5,4", [3, 4, 5, 7]),  # in any order, overlaps count once
    ],
)
def test_a_mask_is_a_count_or_ranges_of_bits(mask, bits):
    assert parse_cu_mask(mask, 304) == tuple(bits)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (parse_after, "gather.chunk[{}]"),
        (parse_after, "gemm.tiles[peer {}]"),
        (parse_after, "gemm.tiles[{}%]"),
        (lambda mask: parse_cu_mask(mask, 304), "0-{}"),
        (lambda mask: parse_cu_mask(mask, 304), "{}"),
    ],
)
def test_a_place_of_thousands_of_digits_is_refused(read, text):
    """Python reads no whole number of more than 4,300 digits."""
    with pytest.raises(InputError, match="9999"):
        read(text.format("9" * 5000))
