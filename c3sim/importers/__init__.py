"""Importers: logs of benchmarks and profilers become measurement records.

A module a tool. Every importer is a ``Format``: how its logs are recognised, and a function
``read(text, given) -> ImportResult``. ``formats`` finds them, ``import_file`` opens a file and
picks one. README.md says what each carries over. ``workloads`` makes an iteration of a trace a
workload instead. It must not know predictions or bounds.
"""

from c3sim.importers.files import (
    Target,
    combine_loops,
    effort_of_logs,
    find_format,
    find_target,
    fitting_nodes,
    formats,
    import_file,
)
from c3sim.importers.result import (
    Format,
    Given,
    ImportResult,
    KernelTimes,
    LoopTrace,
    Overlap,
    Remark,
)
from c3sim.importers.workloads.imported import import_iteration

__all__ = [
    "Format",
    "Given",
    "ImportResult",
    "KernelTimes",
    "LoopTrace",
    "Overlap",
    "Remark",
    "Target",
    "combine_loops",
    "effort_of_logs",
    "find_format",
    "find_target",
    "fitting_nodes",
    "formats",
    "import_file",
    "import_iteration",
]
