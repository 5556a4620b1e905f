"""From a kernel in a Kineto trace back to the launch and the operators that caused it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Event = Mapping[str, Any]
_RUNTIME = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime")


class Links:
    """Launches by correlation id; operators by external id, or by the thread of the launch."""

    def __init__(self, events: Iterable[Any]):
        self._launches: dict[int, Event] = {}
        self._operators: dict[int, Event] = {}
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._claims: Counter[tuple[object, ...]] = Counter()
        by_thread: dict[tuple[str, str], list[Event]] = {}
        for event in events:
            if not isinstance(event, dict):
                continue
            category, args = str(event.get("cat", "")).lower(), event.get("args")
            if category in _RUNTIME and (correlation := _number(args, "correlation")):
                self._launches.setdefault(correlation, event)
            elif category in ("cpu_op", "operator"):
                if external := _number(args, "External id"):
                    self._operators[external] = event
                by_thread.setdefault(_thread_of(event), []).append(event)
        self._threads = {thread: _Thread(operators) for thread, operators in by_thread.items()}

    def launch(self, args: Mapping[str, Any]) -> Event | None:
        """The runtime call that launched the kernel with *args*."""
        correlation = _number(args, "correlation")
        return self._launches.get(correlation) if correlation else None

    def operators(self, args: Mapping[str, Any]) -> list[Event]:
        """Operators that the kernel belongs to, the innermost first."""
        launch = self.launch(args)
        external = _number(args, "External id") or _number(
            launch.get("args") if launch else None, "External id"
        )
        inner = self._operators.get(external or 0)
        start = inner or launch
        thread = self._threads.get(_thread_of(start)) if start is not None else None
        around = thread.around(_time(start, "ts")) if thread and start is not None else []
        return [*([inner] if inner else []), *(op for op in around if op is not inner)]

    def claim(self, operator: Event) -> None:
        """A GEMM kernel belongs to *operator*."""
        self._claims[_identity(operator)] += 1

    def claims(self, operator: Event) -> int:
        """How many GEMM kernels belong to *operator*; with one, its shape is the kernel's."""
        return self._claims[_identity(operator)]


class _Thread:
    """The operators of one thread, which are nested in each other."""

    def __init__(self, events: Iterable[Event]):
        self._events = sorted(events, key=lambda event: (_time(event, "ts"), -_time(event, "dur")))
        self._starts = [_time(event, "ts") for event in self._events]
        self._parents: list[int] = []
        stack: list[int] = []
        for index, start in enumerate(self._starts):
            while stack and self._end(stack[-1]) < start:
                stack.pop()
            self._parents.append(stack[-1] if stack else -1)
            stack.append(index)

    def _end(self, index: int) -> float:
        return self._starts[index] + _time(self._events[index], "dur")

    def around(self, time: float) -> list[Event]:
        """Operators that run at *time*, the innermost first."""
        index, around = bisect_right(self._starts, time) - 1, list[Event]()
        while index >= 0:
            if self._end(index) >= time:
                around.append(self._events[index])
            index = self._parents[index]
        return around


def _number(args: Any, key: str) -> int | None:
    value = args.get(key) if isinstance(args, Mapping) else None
    return value if isinstance(value, int) and value > 0 else None


def _identity(operator: Event) -> tuple[object, ...]:
    """What tells two operators of one trace apart: thread, external id, name, start, duration."""
    external = _number(operator.get("args"), "External id")
    times = _time(operator, "ts"), _time(operator, "dur")
    return *_thread_of(operator), external, operator.get("name"), *times


def _thread_of(event: Event) -> tuple[str, str]:
    return str(event.get("pid")), str(event.get("tid"))


def _time(event: Event, key: str) -> float:
    try:
        return float(event.get(key, 0))
    except (TypeError, ValueError):
        return 0.0
