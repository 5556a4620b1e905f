"""The table of ``advise``."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from c3sim.experiments.advice import Advice, Advices
from c3sim.output.tables.advice import advice_table

NOTHING: dict[str, Any] = {"together": None, "left_out": {}}
PATH = "tasks[kind=collective,op=all_gather,stream=communication-data].by=engines"


def test_a_setting_stands_whole_on_a_line_of_80_characters() -> None:
    """It is to be copied behind --set; a cell of the table would break it in the middle."""
    engines = Advice(knob="engines", setting=PATH, wall_s=0.9, gain=0.1, low=0.05, high=0.2)
    found = Advices(workload="w", node="n", wall_s=1.0, draws=64, each=(engines,), **NOTHING)
    console = Console(width=80, file=io.StringIO())
    console.print(advice_table(found))
    printed = console.file.getvalue()
    assert PATH in printed
    assert "take it" in printed and "5.0 to 20.0" in printed
