"""Every test of the fluid layer runs twice: with the pure progress of flows, and with the compiled
one.

Without numba the loops of the compiled one run as Python: slower, with the same steps.
"""

from __future__ import annotations

import fluid_bench
import pytest

from c3sim.engine.compiled.progress import CompiledProgress
from c3sim.engine.progress import Progress


@pytest.fixture(params=[Progress, CompiledProgress], ids=["pure", "compiled"])
def progress(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Progress]:
    """The parts of :class:`fluid_bench.Bench` in this test."""
    monkeypatch.setattr(fluid_bench, "PROGRESS", request.param)
    chosen: type[Progress] = request.param
    return chosen
