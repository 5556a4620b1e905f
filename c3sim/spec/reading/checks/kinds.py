"""The checks of every kind of task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.spec.reading.checks.collective import CollectiveChecks
from c3sim.spec.reading.checks.commands import CommandsChecks
from c3sim.spec.reading.checks.copy import CopyChecks
from c3sim.spec.reading.checks.kernels import GemmChecks, KernelChecks, StoresChecks, StreamChecks
from c3sim.spec.reading.checks.kind import Checks

#: By the kind that a file says.
CHECKS: Mapping[str, Checks[Any]] = {
    "gemm": GemmChecks(),
    "stream": StreamChecks(),
    "kernel": KernelChecks(),
    "stores": StoresChecks(),
    "collective": CollectiveChecks(),
    "copy": CopyChecks(),
    "commands": CommandsChecks(),
    "hold": Checks(),
    "host": Checks(),
}
