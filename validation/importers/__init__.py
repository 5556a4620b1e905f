"""Importers: logs of benchmarks and profilers become measurement records.

One file per format, each a function ``read(text, given) -> ImportResult``; ``formats`` knows them all, ``import_file``
opens a file and picks one. README.md says what is carried over from each format and what is not.
"""

from .files import Target, find_target, import_file
from .formats import FORMATS, Format, find_format
from .result import Given, ImportResult, KernelTimes, Overlap, Remark

__all__ = [
    "FORMATS",
    "Format",
    "Given",
    "ImportResult",
    "KernelTimes",
    "Overlap",
    "Remark",
    "Target",
    "find_format",
    "find_target",
    "import_file",
]
