"""Words for numbers that bind a time."""

from __future__ import annotations

import io
from fnmatch import fnmatchcase

import pytest
from rich.console import Console

from c3sim.evaluation.limit_words import LIMITS, in_words
from c3sim.evaluation.limiter import Limit
from c3sim.output.tables.limits import limits_table
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import NO_WORKLOAD, paths_of

NODES = [load_node(name) for name in ("h200-2", "mi300x-8")]


def test_a_path_of_which_nobody_knows_the_meaning_is_said_in_words() -> None:
    limit = Limit(path="gpu.cache_policies.l1_capacity", part=0.5)
    meant = "L1 lines for loads in flight; 50 % of it follows"
    assert str(limit) == f"bound by gpu.cache_policies.l1_capacity ({meant})"
    plain = Limit(path="gpu.hbm.bandwidth", part=0.5)
    assert str(plain) == "bound by gpu.hbm.bandwidth (50 % of it follows)"
    shown = io.StringIO()
    Console(width=80, file=shown).print(limits_table({"wall": limit}))
    assert "(L1 lines for loads in flight)" in shown.getvalue()


@pytest.mark.parametrize("pattern", LIMITS)
def test_each_line_is_of_a_number_that_a_node_has(pattern: str) -> None:
    paths = [path for node in NODES for path in paths_of(node, NO_WORKLOAD)]
    assert any(fnmatchcase(path, pattern) for path in paths)
    assert in_words("") == ""
