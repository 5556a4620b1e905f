"""The sliders that a workload and a machine have: a path of ``c3sim show`` and values to try."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError
from c3sim.output.page.command import setting
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.reading.paths import get_value, is_whole, unit_of
from c3sim.spec.units import format_si
from c3sim.spec.workload import Collective, Workload

OWN = 4  # tasks that have sliders of their own; of more, all of a kind have the same
MACHINE, RANKS, RESERVED = "Machine", "Ranks", "reserved CUs"
LEFT = "auto"  # the library chooses
SIDES = (64, 65_536)  # of a matrix
SIZES = (16 * 1024, 8 * 2**30)  # bytes
FACTORS = (1 / 8, 1 / 4, 1 / 3, 1 / 2, 0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2, 3, 4, 8)
HALVES = (1 / 8, 1 / 4, 1 / 2, 0.75, 1.5, 2, 4, 8)
NEAR = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.3, 1.5)
SKEWS = tuple(1e-6 * value for value in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500))  # s

#: Fields of a kind of task -> label and the values to try.
TASKS: dict[str, dict[str, tuple[str, Sequence[Any]]]] = {
    "gemm": {name: (name, SIDES) for name in ("m", "n", "k")},
    "collective": {
        "size": ("size", SIZES),
        "channels": ("channels", ()),
        "engines": ("engines", ()),
    },
    "copy": {"bytes": ("size", SIZES), "engines": ("engines", ())},
    "stream": {"bytes": ("size", SIZES), "workgroups": ("workgroups", ())},
}
#: Paths of a machine -> label and the factors of the file's value to try; none: counts.
MACHINES: dict[str, tuple[str, Sequence[float]]] = {
    "links.bandwidth": ("link bandwidth", FACTORS),
    "links.latency": ("link latency", FACTORS),
    "gpu.dma_engines.count": ("DMA engines", ()),
    "gpu.hbm.bandwidth": ("HBM bandwidth", FACTORS),
    "gpu.memory_side_cache.capacity": ("memory-side cache", HALVES),
    "gpu.l2.capacity": ("L2 cache", HALVES),
    "gpu.clock.maximum": ("clock limit", NEAR),
    "gpu.clock.power_limit": ("power limit", NEAR),
}
#: Paths of the description of an iteration -> label and the values to try.
ITERATIONS: dict[str, tuple[str, Sequence[int]]] = {
    "batch": ("batch", tuple(2**power for power in range(9))),
    "tokens": ("tokens", tuple(2**power for power in range(16))),
    "parallel.prefetch": ("layers ahead", (0, 1, 2, 3, 4)),
    "parallel.fsdp.prefetch": ("layers ahead", (0, 1, 2, 3, 4)),
}
PIECES = (1, 2, 4, 8, 16, 32, 64)
RELEASES = ("event", "per_rank", "host")


@dataclass(frozen=True, kw_only=True)
class Knob:
    """*values* to try, in order, of what *path* names; *base* is the file's. None among them: left
    to the library. *words*: they are names, not numbers.
    """

    group: str
    label: str
    path: str
    unit: str = ""
    base: Any = None
    values: tuple[Any, ...] = ()
    words: bool = False

    @property
    def name(self) -> str:
        """For whoever hears it without its group."""
        return f"{self.group}: {self.label}"

    def shown(self, value: Any) -> str:
        """*value* for people."""
        if value is None:
            return LEFT
        if self.words:
            return {True: "yes", False: "no"}.get(value) or str(value).replace("_", " ")
        return format_si(value, self.unit) if self.unit else str(value)

    def text(self, value: Any) -> str | None:
        """*value* as ``--set`` takes it; None: as the file has it."""
        if value == self.base:
            return None
        return "null" if value is None else setting(value, self.unit)

    def nearest(self, value: Any) -> int:
        """The place among the values that is nearest to *value*."""
        if value in self.values:
            return self.values.index(value)
        numbers = [(place, each) for place, each in enumerate(self.values) if each is not None]
        if self.words or not isinstance(value, int | float) or not numbers:
            return 0
        return min(numbers, key=lambda each: abs(each[1] - value))[0]


def knobs_of(model: Workload, node: Node, strategy: str) -> list[Knob]:
    """Knobs of *model* on *node* under *strategy*; paths that the machine lacks are left out."""
    if isinstance(model, Described):
        found = list(_of_iteration(model, node))
        return [*found, *_reserved(node, strategy), *_of_machine(model, node)]
    return [
        *_of_schedule(model),
        *_of_tasks(model, node),
        *_reserved(node, strategy),
        *_of_machine(model, node),
        *_of_ranks(model),
    ]


def _of_schedule(model: Workload) -> Iterator[Knob]:
    """Knobs of the way in which work is cut into pieces."""
    if model.schedule is None or model.schedule.kind != "pieces":
        return
    choices = {
        "pieces": (False, PIECES),
        "shape": (True, ("1d", "2d")),
        "steps": (True, ("uniform", "hetero")),
        "fused": (True, (True, False)),
    }
    for field, (words, values) in choices.items():
        path, base = f"workload.schedule.{field}", getattr(model.schedule, field)
        every = values if words else tuple(sorted({*values, base}))
        yield Knob(group="Schedule", label=field, path=path, base=base, values=every, words=words)


def _of_tasks(model: Workload, node: Node) -> Iterator[Knob]:
    shared = len(model.tasks) > OWN
    kinds = dict.fromkeys(task.kind for task in model.tasks.values())
    named = [(f"tasks[kind={kind}]", f"every {kind}", kind) for kind in kinds]
    if not shared:
        named = [(f"task.{name}", name, task.kind) for name, task in model.tasks.items()]
    for prefix, group, kind in named:
        moved = getattr(_first(model, kind), "backend", "dma") == "dma"  # by engines, as written
        for field, (label, ends) in TASKS.get(kind, {}).items():
            if label == "engines" and not moved:
                continue
            path = f"{prefix}.{field}"
            base, unit = get_value(node, model, path), unit_of(node, model, path)
            values = tuple(sorted({*_powers(*ends), base})) if ends else (None, *range(1, 65))
            if label == "channels" and isinstance(task := _first(model, kind), Collective):
                values = (None, *range(1, _most_channels(node, task) + 1))
            elif label == "engines":
                values = (None, *range(1, node.gpu.dma_engines.count + 1))
            yield Knob(group=group, label=label, path=path, unit=unit, base=base, values=values)


def _first(model: Workload, kind: str) -> Any:
    return next(task for task in model.tasks.values() if task.kind == kind)


def _most_channels(node: Node, task: Collective) -> int:
    try:
        return int(node.collective_library(task.backend).channels.maximum)
    except KeyError:  # DMA engines have no channels; a strategy may bring the library back
        return int(node.collective_library(None).channels.maximum)


def _powers(low: int, high: int) -> Iterator[float]:
    """Powers of two and the values half-way between them."""
    for power in range(int(math.log2(low)), int(math.log2(high)) + 1):
        yield 2**power
        if 3 * 2 ** (power - 1) < high:
            yield 3 * 2 ** (power - 1)


def _reserved(node: Node, strategy: str) -> Iterator[Knob]:
    """The compute units that rp and sp_rp reserve; not a path but a part of the strategy."""
    if strategy.partition(":")[0] in ("rp", "sp_rp"):
        units, dies = node.gpu.compute_unit_count, node.gpu.dies.count
        step = max(dies, 4)
        values = (None, *range(step, units // 2 + 1, step))
        yield Knob(group="Strategy", label=RESERVED, path=RESERVED, values=values)


def _of_machine(model: Workload, node: Node) -> Iterator[Knob]:
    for path, (label, factors) in MACHINES.items():
        try:
            base, unit = get_value(node, model, path), unit_of(node, model, path)
            whole = is_whole(node, model, path)
        except InputError:  # a machine without that part
            continue
        if not isinstance(base, int | float) or not base:
            continue
        if factors:
            tried = (float(f"{base * factor:.3g}") for factor in factors)
            if whole:
                tried = (float(round(base * factor)) for factor in factors)
            values = tuple(sorted({*tried, base}))
        else:
            values = tuple(range(1, max(2 * int(base), 16) + 1))
        yield Knob(group=MACHINE, label=label, path=path, unit=unit, base=base, values=values)


def _of_ranks(model: Workload) -> Iterator[Knob]:
    yield Knob(
        group=RANKS,
        label="begin together by",
        path="workload.host.release",
        base=model.host.release,
        values=RELEASES,
        words=True,
    )
    yield Knob(
        group=RANKS,
        label="skew: begin up to this late",
        path="workload.host.jitter",
        unit="s",
        base=model.host.jitter,
        values=tuple(sorted({*SKEWS, model.host.jitter})),
    )


def _of_iteration(model: Described, node: Node) -> Iterator[Knob]:
    group = "Iteration"
    for path, (label, tried) in ITERATIONS.items():
        try:
            base = get_value(node, model, path)
        except InputError:  # of another kind of iteration
            continue
        if isinstance(base, int) and not isinstance(base, bool):
            values = tuple(sorted({*tried, base}))
            yield Knob(group=group, label=label, path=path, base=base, values=values)
    library = next((t for t in model.tasks.values() if isinstance(t, Collective)), None)
    if library is not None:
        counts = (None, *range(1, _most_channels(node, library) + 1))
        path = "tasks[kind=collective].channels"
        base = get_value(node, model, path)
        yield Knob(group=group, label="channels", path=path, base=base, values=counts)
