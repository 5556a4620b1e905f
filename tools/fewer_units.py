"""Draws docs/img/fewer-units.png and prints the tables of decision 75: kernels alone on fewer and
fewer compute units, from records of suites that were measured so.

python tools/fewer_units.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from c3sim.kit.look import INK, colours, panel, save, style
from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.reading.loading import load_node
from c3sim.spec.record import Record
from c3sim.spec.workload import Gemm, StreamKernel
from c3sim.validation.compare.measurements import merge
from c3sim.validation.compare.record_files import PACKAGED, load

PICTURE = Path(__file__).parents[1] / "docs" / "img" / "fewer-units.png"
FILES = (
    "h100/one-gpu-probe.jsonl",
    "h200/one-gpu-probe-2.jsonl",
    "published/mi300x/gemm_cu_sweep.jsonl",
)
SUITES = {
    "h100_stream_units": "H100",
    "h100_gemm_thin": "H100",
    "h200_stream_units": "H200",
    "h200_gemm_thin": "H200",
    "gemm_cu_sweep": "MI300X",
}
FEW = 0.97  # of all units: what a strategy withholds, one of 38 per die


@dataclass(slots=True)
class Sweep:
    """One kernel on more and more units: microseconds by units."""

    gpu: str
    kernel: str
    times: dict[int, float] = field(default_factory=dict)

    @property
    def all(self) -> int:
        """Most units that it was measured on."""
        return max(self.times)

    def over_all(self, units: int) -> float:
        """Its time on *units* over that on most."""
        return self.times[units] / self.times[self.all]

    @property
    def quickest(self) -> int:
        """The units on which it takes least."""
        return min(self.times, key=lambda units: self.times[units])

    @property
    def few(self) -> int:
        """The largest number of units below FEW of most, or most itself."""
        return max((u for u in self.times if u <= FEW * self.all), default=self.all)


def sweeps() -> list[Sweep]:
    """Every kernel that was measured alone on five numbers of units or more, by GPU and kernel."""
    found: dict[tuple[str, str], Sweep] = {}
    for one in merge(load([PACKAGED / name for name in FILES])):
        record = one.record
        gpu = SUITES.get(record.suite)
        if gpu is None:
            continue
        for kernel, units, time in points(record):
            found.setdefault((gpu, kernel), Sweep(gpu, kernel)).times[units] = time
    return [found[key] for key in sorted(found) if len(found[key].times) >= 5]


def points(record: Record) -> Iterator[tuple[str, int, float]]:
    """Kernel, units and microseconds of each task of *record* that was measured alone."""
    most = load_node(record.node).gpu.compute_unit_count
    for name, task in record.workload.tasks.items():
        time = record.measured.isolated.get(name)
        if time is None:
            continue
        if isinstance(task, StreamKernel):
            yield f"{task.pattern}, 1 GiB", min(task.workgroups or most, most), time
        elif isinstance(task, Gemm):
            stream = record.workload.streams.get(task.stream or "")
            mask = stream.compute_units if stream else None
            masked = len(parse_cu_mask(mask, most)) if mask is not None else most
            units = min(task.workgroups or masked, masked)
            series = record.source.rpartition(", ")[2] if record.suite == "gemm_cu_sweep" else ""
            yield f"GEMM {task.m} x {task.n} x {task.k} {series}".strip(), units, time


def table(found: list[Sweep]) -> str:
    """Each kernel on all units, on few fewer, on those where it is quickest, as Markdown."""
    lines = [
        "| GPU | kernel | all units: us | a few fewer: time | quickest on: time |",
        "|---|---|---:|---:|---:|",
    ]
    for sweep in found:
        few, least = sweep.few, sweep.quickest
        cells = [sweep.gpu, sweep.kernel, f"{sweep.all}: {sweep.times[sweep.all]:.0f}"]
        cells += [f"{few}: {sweep.over_all(few):.2f}", f"{least}: {sweep.over_all(least):.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(found: list[Sweep]) -> None:
    """A panel for each GPU: time over that on all units, by share of the units."""
    from matplotlib.figure import Figure

    gpus = list(dict.fromkeys(sweep.gpu for sweep in found))
    with style():
        figure = Figure(figsize=(10, 3.8), layout="constrained")
        for axes, gpu in zip(figure.subplots(1, len(gpus), sharey=True), gpus, strict=True):
            lines = [sweep for sweep in found if sweep.gpu == gpu]
            of = colours(sweep.kernel for sweep in lines)
            for sweep in lines:
                units = [each for each in sorted(sweep.times) if each >= 0.45 * sweep.all]
                shares = [100 * each / sweep.all for each in units]
                axes.plot(
                    shares,
                    [sweep.over_all(each) for each in units],
                    color=of[sweep.kernel],
                    marker=".",
                    linewidth=1,
                    label=sweep.kernel,
                )
            axes.axhline(1.0, color=INK, linewidth=0.8)
            panel(axes, gpu, "time over that on all units" * (gpu == gpus[0]))
            axes.set_xlabel("% of all units")
            axes.set_ylim(0.6, 1.7)
            if gpu != gpus[-1]:
                axes.legend(frameon=False, fontsize=7, loc="lower left")
        save(figure, PICTURE)


if __name__ == "__main__":
    measured = sweeps()
    draw(measured)
    print(table(measured))
