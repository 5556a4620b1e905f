"""Parts of profiler traces that tests look for."""

from __future__ import annotations

import json


def kernels(document: dict, part: str) -> list[dict]:
    """The kernels of a trace with *part* in their name."""
    return [
        event
        for event in document["traceEvents"]
        if event.get("cat") == "kernel" and part in event["name"]
    ]


class MadeTrace:
    """A profiler trace made by hand; times in us. Kernels of one launch need no more than that."""

    def __init__(self, rank: int = 0, ranks: int = 1) -> None:
        self.about = {"distributedInfo": {"rank": rank, "world_size": ranks}}
        self.events: list[dict] = []
        self._count = 0

    @classmethod
    def short(cls) -> MadeTrace:
        """Eight kernels of 46 us each, 50 us apart, all called before the first begins."""
        made = cls()
        for number in range(8):
            made.kernel("a", 5000 + 50 * number, 46, called=10 * number)
        return made

    def kernel(
        self,
        name: str,
        start: float,
        duration: float,
        *,
        stream: int = 7,
        called: float | None = None,
        operator: str = "",
        dims: list | None = None,
        category: str = "kernel",
        **args: object,
    ) -> None:
        """A kernel, launched by a call of 4 us at *called*, inside *operator* on bf16 *dims*."""
        self._count += 1
        number = self._count
        about = {"stream": stream, "device": 0, "correlation": number, **args}
        self._add(category, name, start, duration, about)
        if called is None:
            return
        if operator:
            types = ["c10::BFloat16"] * len(dims or [])
            shapes = {"External id": number, "Input Dims": dims, "Input type": types}
            self._add("cpu_op", operator, called - 2, 8, shapes)
        launch = {"correlation": number, **({"External id": number} if operator else {})}
        self._add("cuda_runtime", "cudaLaunchKernel", called, 4, launch)

    def gather(
        self, start: float, duration: float, *, mib: int, ranks: int, **more: object
    ) -> None:
        """An all-gather of *mib* in all, on stream 9 unless *more* says another."""
        elements = mib * 2**19
        self.kernel(
            "ncclDevKernel_AllGather_RING_LL",
            start,
            duration,
            **{"stream": 9, "grid": [16, 1, 1], "block": [544, 1, 1], **more},
            **{"Collective name": "_allgather_base", "dtype": "BFloat16", "Group size": ranks},
            **{"In msg nelems": elements // ranks, "Out msg nelems": elements},
        )

    def call(self, name: str, start: float, duration: float = 1, **told: object) -> int:
        """A call of the runtime; *told*: what ``cuda_sync`` says of it. Returns its number."""
        self._count += 1
        self._add("cuda_runtime", name, start, duration, {"correlation": self._count})
        if told:
            about = {"correlation": self._count, **told}
            self._add("cuda_sync", "Stream Wait Event", start, 0, about)
        return self._count

    def mark(self, number: int, start: float, duration: float) -> None:
        self._add("user_annotation", f"ProfilerStep#{number}", start, duration, {})

    def text(self) -> str:
        return json.dumps({**self.about, "traceEvents": self.events})

    def _add(self, category: str, name: str, start: float, duration: float, args: dict) -> None:
        event = {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration}
        self.events.append({**event, "pid": 1, "tid": 1, "args": args})
