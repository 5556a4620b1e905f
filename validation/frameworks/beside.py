"""Two kernels of one GPU beside each other, the second a little later, and each by itself.

    python -m validation.frameworks.beside PLAN.yaml OUT.jsonl

Both streams wait for one event of the GPU, behind a read of much else, so caches hold nothing of
either. The second task follows a kernel that sleeps for the plan's ``later_us``. Microseconds count
from the event to one behind each task. The plan names ``tasks``, which may have a ``priority``, and
``pairs`` of them; each pair runs in both orders. One JSON line per case: samples of each task, and
of both. It needs PyTorch and CuPy, and nothing of c3sim.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import cupy
import torch
import torch.nn.functional as F
import yaml

from .kernels import ELEMENTWISE, OF_ROWS, attention_of_one, gemm, numbers
from .plan import write_line
from .timing import FP32, MIB, Call, events

WARM_UP, SAMPLES, SLEEP = 2, 11, 1_500_000  # turns, and cycles in which the host runs ahead

#: As validation/probe/src/device/stream_task.cpp: 4 loads of 16 bytes of each of 1024 threads.
SOURCE = r"""
extern "C" __global__ void __launch_bounds__(1024)
stream(const float4 *a, float4 *c, unsigned long long count, int writes) {
    const unsigned long long step = (unsigned long long)gridDim.x * 1024;
    unsigned long long i = blockIdx.x * 1024ull + threadIdx.x;
    float4 sum = {0, 0, 0, 0};
#pragma unroll 1
    for (; i + 3 * step < count; i += 4 * step) {
        float4 x[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) x[j] = __ldcg(a + i + j * step);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (writes) c[i + j * step] = x[j];
            else sum.x += x[j].x + x[j].y + x[j].z + x[j].w;
        }
    }
    if (!writes && sum.x == 1e30f) c[0] = sum;
}
"""
KERNEL = cupy.RawKernel(SOURCE, "stream")


def stream(task: dict[str, Any]) -> Call:
    count = task["mib"] * MIB // 16
    a, c = (numbers(4 * count, **FP32) for _ in range(2))
    given = (a.data_ptr(), c.data_ptr(), count, int(task["pattern"] == "copy"))

    def call(_keep: Any = (a, c)) -> None:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            KERNEL((task["workgroups"],), (1024,), given)

    return call


def call_of(task: dict[str, Any]) -> Call:
    """One call of *task* on buffers of its own."""
    kind = task["kind"]
    if kind == "gemm":
        return gemm(task["m"], task["n"], task["k"])
    if kind == "stream":
        return stream(task)
    if kind == "copy":
        there: dict[str, dict[str, Any]] = {"host": {"pin_memory": True}, "gpu": {"device": "cuda"}}
        ends = task["from"], task.get("to", "gpu" if task["from"] == "host" else "host")
        count = task["mib"] * MIB
        given, to = (torch.empty(count, dtype=torch.uint8, **there[end]) for end in ends)
        return lambda: to.copy_(given, non_blocking=True)
    if kind == "foreach-copy":
        to, given = ([numbers(task["numbers"]) for _ in range(task["tensors"])] for _ in range(2))
        return lambda: torch._foreach_copy_(to, given)
    if kind == "attention-of-one":
        sizes = (task[name] for name in ("batch", "tokens", "groups", "heads"))
        return attention_of_one(*sizes)
    if kind == "attention":
        q, k, v = (numbers(task["batch"], task["heads"], task["tokens"], 128) for _ in range(3))
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    of_rows = {**OF_ROWS["norms"], **OF_ROWS["softmax"]}
    if kind in of_rows:
        return of_rows[kind][1](task["rows"], task["width"])
    return ELEMENTWISE[kind][1](task["mib"] * MIB // 2)


class Turn:
    """Streams and what fills the caches."""

    def __init__(self, later: int):
        self.later, self.control = later, torch.cuda.Stream()
        self.streams = [[torch.cuda.Stream(priority=-p) for p in (0, 1)] for _ in range(2)]
        self.fill = numbers(160 * MIB)

    def run(self, *tasks: tuple[Call, int]) -> list[float]:
        """Us of *tasks*, each a call and its priority, 0 or 1."""
        marks = events(1 + len(tasks))
        torch.cuda.synchronize()
        with torch.cuda.stream(self.control):
            torch.cuda._sleep(SLEEP)
            self.fill.sum()
            marks[0].record()
        for number, (call, priority) in enumerate(tasks):
            stream = self.streams[number][priority]
            stream.wait_event(marks[0])
            with torch.cuda.stream(stream):
                if number:
                    torch.cuda._sleep(self.later)
                call()
                marks[number + 1].record()
        torch.cuda.synchronize()
        return [round(1e3 * marks[0].elapsed_time(end), 2) for end in marks[1:]]


def main(plan_file: str, out: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    torch.manual_seed(1)
    turn, gpu = Turn(int(plan["later_us"] * 1980)), torch.cuda.get_device_name()
    calls = {n: (call_of(task), task.get("priority", 0)) for n, task in plan["tasks"].items()}
    cases: list[tuple[str, ...]] = [(name,) for name in calls]
    cases += [tuple(order) for pair in plan["pairs"] for order in (pair, pair[::-1])]
    with Path(out).open("a", encoding="utf-8") as file, torch.no_grad():
        for names in cases:
            write_line(
                file,
                {"gpu": gpu, "tasks": list(names)},
                partial(fill, turn=turn, tasks={name: calls[name] for name in names}),
            )


def fill(line: dict[str, Any], turn: Turn, tasks: dict[str, tuple[Call, int]]) -> None:
    """Put samples of *tasks* into *line*."""
    turns = [turn.run(*tasks.values()) for _ in range(WARM_UP + SAMPLES)][WARM_UP:]
    line["us"] = {name: [t[i] for t in turns] for i, name in enumerate(tasks)}
    line["wall_us"] = [max(t) for t in turns]


if __name__ == "__main__":
    main(*sys.argv[1:])
