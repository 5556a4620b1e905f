"""Sizes that a trace lacks: from the user's assumptions, else a warning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..assumed import assumed_collective, assumed_gemm
from ..collector import Collector
from .intervals import Kernel
from .kernel_names import classify

_HOW = {"gemm": "m=, n=, k=, dtype=", "collective": "op=, size=, dtype="}


class Sizes:
    """Notes kernels of unknown size; ``settle`` fills in what the user assumed, where clear."""

    def __init__(self, collector: Collector):
        self._collector = collector
        self._seen: dict[str, Mapping[str, Any]] = {}
        self._reasons: dict[tuple[str, str], list[str]] = {}

    def missing(self, name: str, kind: str, reason: str, **seen: object) -> None:
        """*seen* is the part of the task that the trace has."""
        self._seen.setdefault(name, seen)
        self._reasons.setdefault((kind, name), []).append(reason)

    @staticmethod
    def key(name: str, task: Mapping[str, Any] | None) -> str:
        """The same for instances of the same work."""
        return name + json.dumps(task, sort_keys=True)

    def settle(self, kernels: Sequence[Kernel]) -> list[Kernel]:
        """*kernels* with assumed sizes, where one kernel of a kind lacks them; else a warning."""
        names: dict[str, list[str]] = {}
        for kind, name in self._reasons:
            names.setdefault(kind, []).append(name)
        filled: dict[str, Mapping[str, Any]] = {}
        for kind, unsized in names.items():
            task = self._assumed(kind, unsized[0]) if len(unsized) == 1 else None
            if task is not None:
                filled[unsized[0]] = task
                continue
            for name in unsized:
                self._warn(kind, name, several=len(unsized) > 1)
        return [self._fill(kernel, filled) for kernel in kernels]

    def _assumed(self, kind: str, name: str) -> dict[str, Any] | None:
        known, assume = classify(name), self._collector.given.assume
        if kind == "gemm":
            fixed = assumed_gemm(assume)
            tile = {"macro_tile": list(known.macro_tile)} if known.macro_tile else {}
            found: dict[str, Any] = {"library": known.library, **tile}
        else:
            fixed = assumed_collective(assume, known.op)
            found = {"backend": known.library}
        return {"kind": kind, **fixed, **found, **self._seen[name]} if fixed else None

    def _warn(self, kind: str, name: str, several: bool) -> None:
        reasons = self._reasons[kind, name]
        short = name.split("(")[0]
        short = short if len(short) <= 80 else short[:77] + "..."
        hint = "" if several else f"; if you know it: --assume {_HOW[kind]}"
        article = "no record of" if several else "no records of"
        self._collector.warn(f"{article} {short} ({len(reasons)} instances): {reasons[0]}{hint}")

    def _fill(self, kernel: Kernel, filled: Mapping[str, Mapping[str, Any]]) -> Kernel:
        if kernel.task is not None or kernel.name not in filled:
            return kernel
        task = filled[kernel.name]
        gpus = self._collector.given.assume.get("gpus")
        return replace(
            kernel,
            task=task,
            key=self.key(kernel.name, task),
            gpus=int(gpus) if gpus else kernel.gpus,
        )
