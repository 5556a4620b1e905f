"""What a task is for: it computes, it communicates, or the host works."""

from __future__ import annotations

from typing import Literal

TaskClass = Literal["compute", "communication", "host"]

#: By kind of task. Holds occupy compute units as kernels of others do.
CLASSES: dict[str, TaskClass] = {
    "gemm": "compute",
    "stream": "compute",
    "kernel": "compute",
    "hold": "compute",
    "stores": "communication",
    "collective": "communication",
    "copy": "communication",
    "commands": "communication",
    "host": "host",
}
