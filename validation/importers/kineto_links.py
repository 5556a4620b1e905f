"""From a kernel in a Kineto trace back to the launch and the operator that caused it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["Links"]

Event = Mapping[str, Any]
_RUNTIME = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime", "xpu_runtime")


def _number(args: Any, key: str) -> int | None:
    value = args.get(key) if isinstance(args, Mapping) else None
    return value if isinstance(value, int) and value > 0 else None


class Links:
    """Launches by correlation id, operators by external id (or by enclosing the launch on its thread)."""

    def __init__(self, events: Iterable[Any]):
        self._launches: dict[int, Event] = {}
        self._operators: dict[int, Event] = {}
        self._by_thread: dict[tuple[Any, Any], list[Event]] = {}
        for event in events:
            if not isinstance(event, dict):
                continue
            category, args = str(event.get("cat", "")).lower(), event.get("args")
            if category in _RUNTIME and (correlation := _number(args, "correlation")):
                self._launches.setdefault(correlation, event)
            elif category in ("cpu_op", "operator"):
                if external := _number(args, "External id"):
                    self._operators[external] = event
                self._by_thread.setdefault((event.get("pid"), event.get("tid")), []).append(event)

    def launch(self, args: Mapping[str, Any]) -> Event | None:
        """The runtime call that launched the kernel with *args*."""
        correlation = _number(args, "correlation")
        return self._launches.get(correlation) if correlation else None

    def operators(self, args: Mapping[str, Any]) -> list[Event]:
        """Operators that the kernel belongs to, the innermost first."""
        launch = self.launch(args)
        external = _number(args, "External id") or _number(launch.get("args") if launch else None, "External id")
        found = [self._operators[external]] if external in self._operators else []
        inner = found[0] if found else launch
        if inner is not None:
            found += [op for op in self._around(inner) if op is not inner]
        return found

    def _around(self, inner: Event) -> list[Event]:
        """Operators on the thread of *inner* that enclose it, the shortest first."""
        thread = self._by_thread.get((inner.get("pid"), inner.get("tid")), [])
        start = float(inner.get("ts", 0))
        around = [
            op for op in thread if float(op.get("ts", 0)) <= start <= float(op.get("ts", 0)) + float(op.get("dur", 0))
        ]
        return sorted(around, key=lambda op: float(op.get("dur", 0)))
