"""The modules that a task is handed to on its way from file to result."""

import sys
from collections import Counter
from pathlib import Path

import c3sim
from c3sim.processes.plan import Planned
from c3sim.simulation import runs
from c3sim.spec.base import Spec
from c3sim.spec.task import TaskBase

#: Beside the modules of its own classes: c3sim.spec.base, .task, .workload, c3sim.processes.plan.
MOST = 15
OWN = {Spec.__module__, TaskBase.__module__, "c3sim.spec.workload", Planned.__module__}


def test_a_gemm_passes_few_modules(tmp_path):
    file = Path(tmp_path) / "one.yaml"
    file.write_text(
        "schema: 1\nname: one\n"
        "tasks:\n  gemm: {kind: gemm, m: 4096, n: 4096, k: 4096, dtype: bf16}\n"
    )
    seen: Counter[str] = Counter()

    def profile(frame, event, _):
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        if event != "call" or not module.startswith("c3sim."):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = [frame.f_locals.get(name) for name in names if not name.startswith(".")]
        seen[module] += any(isinstance(each, TaskBase | Planned) for each in given)

    runs.forget()
    sys.setprofile(profile)
    try:
        assert c3sim.run(file, node="h200-8").tasks  # worked out for who reads them
    finally:
        sys.setprofile(None)
    passed = {module for module, count in seen.items() if count} - OWN
    assert {"c3sim.tasks.gemm", "c3sim.evaluation.evaluate"} <= passed
    assert len(passed) <= MOST, sorted(passed)
