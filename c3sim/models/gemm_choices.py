"""Choices that a GEMM library was seen to make: tile and parts of K by shape.

The names of a library's kernels say their tiles (``nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK``: 64
columns, 8 rows, slices of 64 of K, 16 stages, clusters of 4), and their grids how many parts of K
a tile has. A table of the package has a row for each shape whose kernels a profiler showed.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

NUMBERS = ("units", "m", "n", "k", "rows", "columns", "split", "cluster_rows", "cluster_columns")


class Choice(NamedTuple):
    """Tile (rows, columns), parts of K, and tiles of a cluster (down, across)."""

    tile: tuple[int, int]
    split: int
    cluster: tuple[int, int]


@cache
def choices(table: str) -> dict[tuple[int, int, int, int, str], Choice]:
    """Choices by compute units, m, n, k and data type, of a *table* in hwmodels/.

    Raises FileNotFoundError for a table that is not packaged (checked on input).
    """
    text = (files("c3sim.hwmodels") / f"{table}.csv").read_text(encoding="utf-8")
    found = {}
    for row in csv.DictReader(text.splitlines()):
        number = {name: int(row[name]) for name in NUMBERS}
        shape = (number["units"], number["m"], number["n"], number["k"], row["dtype"])
        cluster = (number["cluster_rows"], number["cluster_columns"])
        found[shape] = Choice((number["rows"], number["columns"]), number["split"], cluster)
    return found
