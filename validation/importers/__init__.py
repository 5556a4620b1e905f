"""Importers: logs of benchmarks and profilers become measurement records.

One folder a tool. Every importer is one function ``read(text, given) -> ImportResult``; ``formats``
lists them, ``import_file`` opens a file and picks one. README.md says what each carries over.
``workloads`` makes an iteration of a trace a workload instead. It must not know predictions or
bounds.
"""

from .files import Target, combine_loops, effort_of_logs, find_target, fitting_nodes, import_file
from .formats import FORMATS, Format, find_format
from .result import Given, ImportResult, KernelTimes, LoopTrace, Overlap, Remark
from .workloads.imported import import_iteration

__all__ = [
    "FORMATS",
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
    "import_file",
    "import_iteration",
]
