"""Small grammars of workload files: dependencies, the order of tasks, CU masks."""

import pytest
from loading_case import error_of

from c3sim.specs.workload import After, parse_after, parse_cu_mask

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gemm.tile[3]", f"'gemm.tile[3]' {NO_DEPENDENCY}"),
        (
            "gemm.tiles[0%]",
            "'gemm.tiles[0%]': 0% of the tiles; must be more than 0% and at most 100%",
        ),
        (
            "gemm.tiles[101%]",
            "'gemm.tiles[101%]': 101% of the tiles; must be more than 0% and at most 100%",
        ),
        ("", f"'' {NO_DEPENDENCY}"),
    ],
)
def test_other_text_is_no_dependency(text, message):
    assert error_of(parse_after, text) == message


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
    ("mask", "message"),
    [
        ("", "mask '' has no compute unit; bits are 0 to 303, as in '0-303'"),
        (0, "mask of 0 compute units; must be 1 to 304"),
        (305, "mask of 305 compute units; must be 1 to 304"),
        (
            "0-304",
            "'0-304' in mask '0-304' is beyond the last compute unit; bits are 0 to 303, as in "
            "'0-303'",
        ),
        ("5-3", "'5-3' in mask '5-3' runs backwards; bits are 0 to 303, as in '0-303'"),
        ("0xff", "'0xff' in mask '0xff' is no bit or range; bits are 0 to 303, as in '0-303'"),
        ("1,,2", "'' in mask '1,,2' is no bit or range; bits are 0 to 303, as in '0-303'"),
    ],
)
def test_a_mask_without_sense_is_refused(mask, message):
    assert error_of(parse_cu_mask, mask, 304) == message
