"""c3sim: a discrete-event simulator of a GEMM and a collective running at the same time on the GPUs
of a node.

    import c3sim
    result = c3sim.run("gemm-beside-all-gather", strategy="sp")
    result.wall_s, result.fraction_of_ideal

Everything is imported on first use, so that ``import c3sim`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from c3sim.api import advise, compare, diff, explain, export_trace, run, study, sweep
    from c3sim.api.many import import_trace, optimise, sensitivity, validate
    from c3sim.errors import C3simError, DeadlockError, InputError, InputErrors
    from c3sim.iterations.result import IterationResult
    from c3sim.result import Result
    from c3sim.spec.reading.building import (
        Program,
        Workload,
        collective,
        copy,
        gemm,
        hold,
        stream_kernel,
    )
    from c3sim.spec.reading.loading import load_hardware, load_workload, parse_workload

__all__ = [
    "C3simError",
    "DeadlockError",
    "InputError",
    "InputErrors",
    "IterationResult",
    "Program",
    "Result",
    "Workload",
    "__version__",
    "advise",
    "collective",
    "compare",
    "copy",
    "diff",
    "explain",
    "export_trace",
    "gemm",
    "hold",
    "import_trace",
    "load_hardware",
    "load_workload",
    "optimise",
    "parse_workload",
    "run",
    "sensitivity",
    "stream_kernel",
    "study",
    "sweep",
    "validate",
]

_HOME = {
    **dict.fromkeys(
        ("advise", "compare", "diff", "explain", "export_trace", "run", "study", "sweep"),
        "c3sim.api",
    ),
    **dict.fromkeys(("import_trace", "optimise", "sensitivity", "validate"), "c3sim.api.many"),
    **dict.fromkeys(("C3simError", "DeadlockError", "InputError", "InputErrors"), "c3sim.errors"),
    **dict.fromkeys(
        ("Workload", "collective", "copy", "gemm", "hold", "stream_kernel"),
        "c3sim.spec.reading.building",
    ),
    **dict.fromkeys(
        ("load_hardware", "load_workload", "parse_workload"), "c3sim.spec.reading.loading"
    ),
    "Program": "c3sim.spec.reading.building",
    "Result": "c3sim.result",
    "IterationResult": "c3sim.iterations.result",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("c3sim")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'c3sim' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
