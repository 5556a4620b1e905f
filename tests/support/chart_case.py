"""Tables of results made by hand: two axes, two strategies, one point that failed."""

from __future__ import annotations

import json
from itertools import product

from c3sim.output.results.table import ResultTable, make_table

ENGINES, BANDWIDTHS, STRATEGIES = (2.0, 4.0, 8.0), (32e9, 64e9), ("base", "conccl")
AXES = {
    "gpu.dma_engines.count": {"unit": "", "label": "dma engines count"},
    "links.bandwidth": {"unit": "B/s", "label": "links bandwidth"},
}
OUTPUTS = {
    "wall_s": {"unit": "s", "label": "wall time"},
    "fraction_of_ideal": {"unit": "1", "label": "fraction of ideal overlap"},
    "energy_j": {"unit": "J", "label": "energy"},
}
ABOUT = {
    "version": 1,
    "study": {"name": "engines"},
    "node": "mi300x-8",
    "axes": AXES,
    "outputs": OUTPUTS,
    "hash": "abc",
}
FAILED = 5


def columns() -> dict[str, list]:
    """Twelve points. With b GB/s and n engines: wall 64 / b ms under base, 128 / (b n) ms under
    conccl.
    """
    points = list(product(ENGINES, BANDWIDTHS, STRATEGIES))
    walls = [
        (64e6 if strategy == "base" else 128e6 / engines) / width
        for engines, width, strategy in points
    ]
    fractions = [0.1 if strategy == "base" else engines / 10 for engines, _, strategy in points]
    energies = [10.0 + engines if strategy == "conccl" else 20.0 for engines, _, strategy in points]
    found: dict[str, list] = {
        "point": list(range(len(points))),
        "gpu.dma_engines.count": [engines for engines, _, _ in points],
        "links.bandwidth": [width for _, width, _ in points],
        "scenario": ["pair"] * len(points),
        "strategy": [strategy for _, _, strategy in points],
        "wall_s": walls,
        "fraction_of_ideal": fractions,
        "energy_j": energies,
        "error": [None] * len(points),
    }
    for name in OUTPUTS:
        found[name][FAILED] = None
    found["error"][FAILED] = "deadlock: task 'gather' waits for nothing"
    return found


def table(**about) -> ResultTable:
    return make_table(columns(), {**ABOUT, **about})


def write_parquet(path, data=None, about=ABOUT):
    """*data* as a sweep writes it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = pa.table(columns() if data is None else data)
    pq.write_table(
        made.replace_schema_metadata({b"c3sim": json.dumps(about).encode()} if about else None),
        path,
    )
    return path


TORNADO = {
    "parameter": ["links.bandwidth", "gpu.hbm.bandwidth", "links.bandwidth"],
    "low": [48e9, 4.8e12, 48e9],
    "high": [64e9, 5.3e12, 64e9],
    "output": ["wall_s", "wall_s", "speedup"],
    "at_low": [4.4e-3, 4.2e-3, 1.1],
    "at_high": [3.6e-3, 4.1e-3, 1.3],
    "base": [4e-3, 4e-3, 1.2],
}
