"""Measure loaded memory: kernels on few compute units beside one that streams on others.

    python -m validation.frameworks.loaded OUT.jsonl

The kernel behind claims all shared memory of its units and streams until it is told to stop; the
one in front runs on units that are left: one thread whose loads wait for each other, or a few
workgroups that read, write or copy. One JSON line for each pair: ns of a load or GB/s of the one in
front, and the GB/s that the one behind reaches meanwhile. These are isolated stress kernels. It
needs PyTorch and CuPy, and nothing of c3sim.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import cupy
import torch

from .plan import write_line

MIB, REPEATS = 1 << 20, 5
BEHIND = 1024 * MIB  # bytes of each of its arrays
LINE, LOADS, CHASED = 128, 4000, 512 * MIB
Case = tuple[tuple[str, int] | None, str, int]
PATTERNS = ("read", "write", "copy")

SOURCE = r"""
typedef unsigned long long u64;
__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
__device__ void part(const float4 *a, float4 *c, u64 i, u64 step, int pattern, float4 &sum) {
    float4 x[4];
    if (pattern != 1)
#pragma unroll
        for (int j = 0; j < 4; ++j) x[j] = __ldcg(a + i + j * step);
    else
#pragma unroll
        for (int j = 0; j < 4; ++j) x[j] = sum;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        if (pattern) c[i + j * step] = x[j];
        else sum.x += x[j].x + x[j].y + x[j].z + x[j].w;
    }
}
extern "C" __global__ void __launch_bounds__(1024)
front(const float4 *a, float4 *c, u64 count, int pattern, u64 *times) {
    const u64 begin = now(), step = (u64)gridDim.x * 1024;
    float4 sum = {0, 0, 0, 0};
#pragma unroll 1
    for (u64 i = blockIdx.x * 1024ull + threadIdx.x; i + 3 * step < count; i += 4 * step)
        part(a, c, i, step, pattern, sum);
    if (sum.x == 1e30f) c[0] = sum;
    __syncthreads();
    if (!threadIdx.x) { times[2 * blockIdx.x] = begin; times[2 * blockIdx.x + 1] = now(); }
}
extern "C" __global__ void __launch_bounds__(1024)
behind(const float4 *a, float4 *c, u64 count, int pattern, volatile int *stop, u64 *done) {
    const u64 begin = now(), step = (u64)gridDim.x * 1024;
    float4 sum = {0, 0, 0, 0};
    u64 turns = 0, i = blockIdx.x * 1024ull + threadIdx.x;
    for (; !(turns % 16 == 0 && (*stop || now() - begin > 300000000ull)); ++turns) {
        part(a, c, i, step, pattern, sum);
        i += 4 * step;
        if (i + 3 * step >= count) i = blockIdx.x * 1024ull + threadIdx.x;
    }
    if (sum.x == 1e30f) c[0] = sum;
    if (!threadIdx.x) { done[2 * blockIdx.x] = turns; done[2 * blockIdx.x + 1] = now() - begin; }
}
extern "C" __global__ void chase(const unsigned *next, int loads, u64 *times) {
    unsigned at = 0;
    for (int i = 0; i < 100; ++i) at = __ldcg(next + at);
    const u64 begin = now();
    for (int i = 0; i < loads; ++i) at = __ldcg(next + at);
    times[0] = begin;
    times[1] = now() + (at == 0xffffffffu);
}
"""
MODULE = cupy.RawModule(code=SOURCE)
FRONT, BEHIND_KERNEL, CHASE = (MODULE.get_function(n) for n in ("front", "behind", "chase"))


class Bench:
    """Buffers and streams."""

    def __init__(self) -> None:
        props = torch.cuda.get_device_properties(0)
        self.lds = props.shared_memory_per_block_optin
        BEHIND_KERNEL.max_dynamic_shared_size_bytes = self.lds
        self.fore = [cupy.zeros(BEHIND // 4, dtype=cupy.float32) for _ in range(2)]
        self.back = [cupy.zeros(BEHIND // 4, dtype=cupy.float32) for _ in range(2)]
        lines = CHASED // LINE
        order = cupy.random.permutation(lines).astype(cupy.uint32)
        self.next = cupy.zeros(CHASED // 4, dtype=cupy.uint32)
        self.next[order * (LINE // 4)] = cupy.roll(order, -1) * (LINE // 4)
        self.stop, self.times = cupy.zeros(1, dtype=cupy.int32), cupy.zeros(512, dtype=cupy.uint64)
        self.done = cupy.zeros(512, dtype=cupy.uint64)
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]

    def run(self, behind: tuple[str, int] | None, kind: str, count: int) -> tuple[float, float]:
        """Ns of a load or GB/s of the kernel in front, and GB/s of the one behind."""
        one, other, third = self.streams
        self.fore[1][: 80 * MIB].fill(0)  # caches hold nothing of what is read
        self.stop.fill(0)
        cupy.cuda.Device().synchronize()
        if behind is not None:
            pattern, groups = PATTERNS.index(behind[0]), behind[1]
            given = (*self.back, cupy.uint64(BEHIND // 16), cupy.int32(pattern))
            with one:
                all_given = (*given, self.stop, self.done)
                BEHIND_KERNEL((groups,), (1024,), all_given, shared_mem=self.lds)
            torch.cuda._sleep(1)  # the runtime's own stream: the kernel is on its way
        with other:
            if kind == "chase":
                CHASE((1,), (1,), (self.next, cupy.int32(LOADS), self.times))
            else:
                each = cupy.uint64(count * 8 * MIB // 16)
                given = (*self.fore, each, cupy.int32(PATTERNS.index(kind)), self.times)
                FRONT((count,), (1024,), given)
        other.synchronize()
        with third:
            self.stop.fill(1)
        cupy.cuda.Device().synchronize()
        times = self.times[: 2 * count].get().reshape(-1, 2)
        took = float(times[:, 1].max() - times[:, 0].min())
        moved = count * 8 * MIB * (2 if kind == "copy" else 1)
        reached = 0.0
        if behind is not None:
            done = self.done[: 2 * behind[1]].get().reshape(-1, 2).astype(float)
            size = 65536 * (2 if behind[0] == "copy" else 1)
            reached = float((done[:, 0] * size / done[:, 1]).sum())
        return (took / LOADS if kind == "chase" else moved / took), reached


def cases() -> Iterator[Case]:
    fronts = [("chase", 1), *product(PATTERNS, (1, 4))]
    behinds = [None, *product(PATTERNS, (8, 24, 48, 72, 96, 120))]
    for behind, (kind, count) in product(behinds, fronts):
        yield behind, kind, count


def main(out: str) -> None:
    bench, gpu = Bench(), torch.cuda.get_device_name()
    with Path(out).open("a", encoding="utf-8") as file:
        for behind, kind, count in cases():
            line: dict[str, Any] = {"gpu": gpu, "behind": behind, "front": kind, "groups": count}
            write_line(file, line, partial(fill, bench=bench, case=(behind, kind, count)))


def fill(line: dict[str, Any], bench: Bench, case: Case) -> None:
    """Put the rates of *case* into *line*."""
    found = [bench.run(*case) for _ in range(REPEATS + 1)][1:]
    line["reached"] = [round(each[0], 3) for each in found]
    line["behind_gb_s"] = round(median(each[1] for each in found), 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
