"""Kernel times and overlap of a trace, for people."""

from __future__ import annotations

from collections.abc import Iterator

from ..result import ImportResult, KernelTimes


def kernel_lines(result: ImportResult) -> Iterator[str]:
    """A line per device, and one per GEMM and collective; the rest is counted."""
    for each in result.overlaps:
        yield (
            f"device {each.device}: GEMMs ran {each.gemm_us:.1f} us,"
            f" collectives {each.collective_us:.1f} us, both at once {each.both_us:.1f} us,"
            f" exposed communication {each.exposed_us:.1f} us"
        )
    for kernel in result.kernels:
        if kernel.kind != "other":
            yield "  " + _line(kernel)
    if others := sum(kernel.kind == "other" for kernel in result.kernels):
        yield f"  {others} other kernels are in --json"


def _line(kernel: KernelTimes) -> str:
    name = kernel.what or kernel.name.split("(")[0][:60]
    alone = f"{kernel.isolated} alone" + (
        f", median {kernel.isolated_us:.1f} us" if kernel.isolated else ""
    )
    beside = f"{kernel.concurrent} beside others"
    if kernel.concurrent:
        beside += f", median {kernel.concurrent_us:.1f} us"
        beside += f", of which {kernel.overlap_us:.1f} us overlapped"
    slower = f"; slowdown {kernel.slowdown:.3f}" if kernel.slowdown else ""
    return f"{name} (stream {', '.join(kernel.streams)}): {alone}; {beside}{slower}"
