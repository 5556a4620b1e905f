"""The phases of one copy by a DMA engine, and the energy that one run saves over another
with every energy of the node anywhere in its interval.

A run spends sum_i e_i a_i: the energies e_i of the node file times what was done, a_i; its
*account* has these products. A saving is 1 less a ratio of two such sums. The smallest and the
largest ratio lie at ends of intervals, and :func:`band` finds them exactly. Both runs share one set
of energies; times and clocks stay as simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from statistics import mean, median, quantiles
from typing import Any, NamedTuple

from c3sim.evaluation.strategies.dma_variants import variants, with_variants
from c3sim.evaluation.strategies.rewrites import on_compute_units, with_tasks
from c3sim.experiments.cases import Case, collective_of
from c3sim.experiments.study import Row, grouped
from c3sim.kit.text import size
from c3sim.simulation.run import Run
from c3sim.simulation.runs import alone, run_once
from c3sim.spec.energies import IDLE, by_component
from c3sim.spec.hardware import Node
from c3sim.spec.sourced import Leaf
from c3sim.spec.task import Command
from c3sim.spec.workload import Commands, HostThreads, Workload
from c3sim.tasks.plan import payload_bytes

Account = Mapping[str, float]  # name of an energy -> J
Ends = Mapping[str, tuple[float, float]]  # name of an energy -> ends of its interval over its value
Saving = dict[str, float | None]
ROUNDS = 50  # of band; it ends after three or four


def total(account: Account, factors: Mapping[str, float] | None = None) -> float:
    """Energy [J] of an *account*, every energy times its factor."""
    return sum(joules * (factors or {}).get(name, 1.0) for name, joules in account.items())


def intervals_of(provenance: Mapping[str, Leaf]) -> dict[str, tuple[float, float]]:
    """For each energy of a node file with an interval, its ends in units of its value."""
    found = {}
    for path, leaf in provenance.items():
        section, _, name = path.rpartition(".")
        is_energy = section == "gpu.energy" or path == f"gpu.clock.{IDLE}"
        if is_energy and leaf.interval and leaf.value:
            low, high = leaf.interval
            found[name] = (low / leaf.value, high / leaf.value)
    return found


def band(spent: Account, other: Account, ends: Ends) -> tuple[float, float]:
    """Smallest and largest ratio of energies [1] of *spent* to *other* with every energy in its
    interval.

    Dinkelbach's iteration: with r the ratio so far, each energy goes to the end that raises
    (lowers) spent - r other.
    """

    def extreme(sign: float) -> float:
        ratio = total(spent) / total(other)
        for _ in range(ROUNDS):
            factors = {}
            for name, (low, high) in ends.items():
                gain = spent.get(name, 0.0) - ratio * other.get(name, 0.0)
                factors[name] = high if sign * gain > 0 else low
            found = total(spent, factors) / total(other, factors)
            if abs(found - ratio) <= 1e-12 * ratio:
                break
            ratio = found
        return ratio

    return extreme(-1.0), extreme(1.0)


def savings(run: Mapping[str, Any], other: Mapping[str, Any], ends: Ends) -> dict[str, Saving]:
    """Savings in mean ``power`` over the run, and in ``energy``, against *other*. Both have their
    ``account`` and ``end`` [s].
    """
    low, high = band(run["account"], other["account"], ends)
    ratio = total(run["account"]) / total(other["account"])

    def saving(scale: float) -> Saving:
        least, most = (1 - scale * high, 1 - scale * low) if ends else (None, None)
        return {"saving": 1 - scale * ratio, "low": least, "high": most}

    return {"power": saving(other["end"] / run["end"]), "energy": saving(1.0)}


def mean_savings(several: Sequence[Mapping[str, Saving]]) -> dict[str, Saving]:
    """Means of savings, and of the ends of their bands."""

    def over(name: str) -> Saving:
        known = {
            end: [value for each in several if (value := each[name][end]) is not None]
            for end in ("saving", "low", "high")
        }
        return {end: mean(values) if values else None for end, values in known.items()}

    return {name: over(name) for name in ("power", "energy")}


def energies(node: Node, found: Sequence[Row], ends: Ends, published: Any) -> Row:
    rows = [_spent(node, each, ends) for each in found]
    measured = node.gpu.energy.measured
    known: dict[str, Any] = {}
    if published:
        known = {"large": _large(rows, published["large_bytes"]), "published": published}
    return Row(validated=bool(measured), measured=measured, rows=rows, **known)


def _spent(node: Node, found: Row, ends: Ends) -> Row:
    def consumption(run: Row) -> Row:
        """Energies [J] of all GPUs, by component; the power is that of one GPU."""
        joules = total(run.account)
        return Row(
            energy_j=joules,
            power_w_per_gpu=joules / run.end / node.ranks,
            energy_per_byte=joules / found.moved,
            energy=run.energy,
        )

    def moving(run: Row) -> float:
        """Energy [J] without idle power."""
        return float(total(run.account) - run.account[IDLE])

    pcpy = found.runs["pcpy"]
    spent = {
        variant: Row(
            consumption(run),
            over_rccl=savings(run, found.rccl, ends),
            over_pcpy=savings(run, pcpy, ends),
            moving=(moving(pcpy) - moving(run)) / total(pcpy.account),
        )
        for variant, run in found.runs.items()
    }
    of = {"payload_bytes": found.moved, "rccl": consumption(found.rccl), "variants": spent}
    return Row(found.what, **of)


def _large(rows: Sequence[Row], smallest: float) -> list[Row]:
    """Mean savings from *smallest* bytes on, of each collective and variant."""
    large = [row for row in rows if row.size_bytes >= smallest]
    return [
        Row(
            collective=op,
            variant=name,
            over_rccl=mean_savings([row.variants[name].over_rccl for row in of]),
            over_pcpy=mean_savings([row.variants[name].over_pcpy for row in of]),
            moving=mean(row.variants[name].moving for row in of),
        )
        for op, of in grouped(large, lambda row: row.collective).items()
        for name in of[0].variants
    ]


def saver(rows: Sequence[Row], of: Row) -> str:
    """The component that saves most power where *of* moves the largest buffer of *rows*: over
    compute units for pcpy, over pcpy for others.
    """
    same = [row for row in rows if row.collective == of.collective]
    row = max(same, key=lambda each: int(each.size_bytes))
    mine = row.variants[of.variant]
    other = row.rccl if of.variant == "pcpy" else row.variants["pcpy"]

    def watts(each: Row, name: str) -> float:
        """Per GPU."""
        return float(each.energy.get(name, 0.0) / each.energy_j * each.power_w_per_gpu)

    saved = {name: watts(other, name) - watts(mine, name) for name in other.energy}
    most = max(saved, key=lambda name: abs(saved[name]))
    return f"{most}: {saved[most]:+.0f} of {other.power_w_per_gpu:.0f} W"


def phases(node: Node, size: int) -> Row:
    """Shares of one copy of *size* bytes by phase. The program that measures them: a timestamp
    before and after the copy, then the atomic that the host waits for.

        control   the packets are written
        schedule  from the doorbell until the first packet is fetched
        copy      the copy itself
        sync      the signal

    What the host does before and behind it is left out.
    """
    program = (
        Command(op="timestamp", on="begin"),
        Command(op="copy", bytes=size, peer=1),
        Command(op="timestamp", on="end"),
        Command(op="atomic", on="done"),
    )
    task = Commands(kind="commands", gpus="first", program=program)
    host = HostThreads(submission="direct")
    workload = Workload(schema_version=1, name="copy", tasks={"copy": task}, host=host)
    run = run_once(node, workload).task("copy")
    stamps = run.detail["timestamps_s"]
    control = len(program) * node.host.packet_time
    times = {
        "control": control,
        "schedule": stamps["begin"] - control - node.host.doorbell_time,
        "copy": stamps["end"] - stamps["begin"],
        "sync": run.end - stamps["end"] - node.host.signal_time,
    }
    whole = sum(times.values())
    return Row({"size_bytes": size}, **{name: time / whole for name, time in times.items()})


SMALL = 32 * 2**20  # bytes


def _geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


class Ratio(NamedTuple):
    """*over* / *under* of the rows of one operation (empty: all), small ones or *large*."""

    what: str
    over: str
    under: str
    of: str = ""
    large: bool = False
    reduce: Callable[[Sequence[float]], float] = _geometric_mean


RATIOS = {
    "best_over_pcpy": Ratio("best variant, speedup over pcpy, small, mean", "pcpy", "best"),
    "best_over_pcpy_most": Ratio(
        "best variant, speedup over pcpy, small, most", "pcpy", "best", reduce=max
    ),
    **{
        f"{op}_{when}": Ratio(f"{words}, {over} / compute units, small", over, "rccl", op)
        for when, over in (("before", "pcpy"), ("after", "best"))
        for op, words in (("all_gather", "all-gather"), ("all_to_all", "all-to-all"))
    },
    "large": Ratio("compute units / best, large", "rccl", "best", large=True),
}


def beside(rows: Sequence[Row], published: Mapping[str, float]) -> Iterator[Row]:
    """A claim for each of *published* (key -> ratio) that *rows* can answer."""
    for key, theirs in published.items():
        ratio = RATIOS[key]
        known = [
            {
                "pcpy": row.variants["pcpy"],
                "best": row.variants[row.best],
                "rccl": row.rccl,
                "bytes": row.size_bytes,
            }
            for row in rows
            if ratio.of in ("", row.collective) and (row.size_bytes >= SMALL) is ratio.large
        ]
        values = [row[ratio.over].time_us / row[ratio.under].time_us for row in known]
        if values:
            ours = ratio.reduce(values)
            ends = sorted(known, key=lambda row: float(row["bytes"]))
            decides = "; ".join(_ends(row, ratio) for row in (ends[0], ends[-1]))
            of = {"published": theirs, "simulated": ours, "decides": decides}
            yield Row(claim=key, what=ratio.what, **of)


def _ends(row: Mapping[str, Any], ratio: Ratio) -> str:
    """Both sides of *ratio* at the size of *row*."""
    times = (f"{row[side].time_us:.3g}" for side in (ratio.over, ratio.under))
    return f"{size(row['bytes'])}: {' over '.join(times)} us"


def errors_of(rows: Sequence[Row], calibration_bytes: Sequence[int]) -> Row | None:
    """Absolute relative errors of speedups, but at the sizes from which parameters were taken."""
    errors = [
        abs(row.speedups[name] / theirs - 1)
        for row in rows
        if row.size_bytes not in calibration_bytes
        for name, theirs in row.published.items()
    ]
    if len(errors) < 2:
        return None
    p90 = quantiles(errors, n=10, method="inclusive")[-1]
    return Row(of=len(errors), median=median(errors), p90=p90, max=max(errors))


def row_of(case: Case) -> Row:
    """Runs of each program of the engines, on as many of them as the workload says, and of compute
    units; the phases of one copy.
    """
    name, task = collective_of(case)
    base = alone(with_tasks(case.workload, {name: {"backend": "dma"}}), name)

    def of(run: Run) -> Row:
        energy = by_component(case.node, run.account)
        time = 1e6 * run.task(name).end
        return Row(time_us=time, account=dict(run.account), end=run.end, energy=energy)

    runs = {}
    for variant in variants(case.node, task.op):
        if variant.engines is None:
            chosen = with_variants(base, {name: replace(variant, engines=task.engines)})
            runs[variant.name] = of(run_once(case.node, chosen))
    rccl = of(run_once(case.node, on_compute_units(base, case.node)))
    moved = payload_bytes(case.node, task)
    what = Row(collective=task.op, size_bytes=int(task.size))
    return Row(
        what=what, runs=runs, rccl=rccl, moved=moved, phases=phases(case.node, int(task.size))
    )
