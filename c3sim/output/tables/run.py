"""Tables of ``run``, ``compare`` and ``explain``.

An *explanation* is ``{"workload", "node", "strategy", "tasks": {NAME: {"isolated_s", "time_s",
"slowdown", "causes": {CAUSE: share}, "left_over": share, "reasons": [TEXT]}}}``. Shares are
fractions of the isolated time: slowdown = 1 + sum of the causes + left over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures, percent, time_unit, times
from c3sim.output.tables.energy import energy_table, standing
from c3sim.output.tables.phases import phase_tables
from c3sim.result import Result

if TYPE_CHECKING:
    from rich.console import Group

VISIBLE = 0.0005  # the least share that is not written as 0.0 %
MOST_ROWS = 60  # tasks of a run that are shown: of more, those that take longest
MOST_COLUMNS = 20  # tasks that strategies are compared by


def run_table(whole: Result) -> Group:
    """One run: its times in a header line, then a row per task, energies, notes. Of many tasks
    only the longest are shown.
    """
    result = _longest(whole)
    left = len(whole.tasks) - len(result.tasks)
    unit, length = time_unit(result.wall_s)
    times_of_run = (
        f"wall {result.wall_s / length:.3f} {unit}, serial {result.serial_s / length:.3f} {unit}, "
        f"ideal speedup {times(result.ideal_speedup)}, speedup {times(result.speedup)}\n"
        f"fraction of ideal {_share(result.fraction_of_ideal)}, "
        f"own fraction {_share(result.own_fraction)}, "
        f"energy {figures(result.energy_j)} J, mean power {figures(result.average_power_w)} W "
        f"({figures(result.average_power_w / result.gpus)} W per GPU)"
    )
    clocks = [f"{name}\n({unit})" for name in ("isolated", "start", "end", "time")]
    table = make_table(["task", "kind"], [*clocks, "slowdown\n(x)", "energy\n(J)"])
    for name, task in result.tasks.items():
        spans = (
            f"{t / length:.3f}" for t in (task.isolated_s, task.start_s, task.end_s, task.time_s)
        )
        add_row(table, name, task.kind, *spans, times(task.slowdown), figures(task.energy_j))
    title = f"{result.workload} on {result.node}, strategy {result.strategy}"
    return stack(
        title,
        times_of_run,
        table,
        *([f"the {MOST_ROWS} longest tasks; {left} more are in --json"] if left else []),
        *phase_tables(result),
        "slowdown: time, queueing included, over isolated time",
        *(("", energy_table(result), standing(result.energy_measured)) if result.energy else ()),
        *(f"note: {note}" for note in result.notes),
    )


def compare_table(results: Sequence[Result]) -> Group:
    """The same workload under several strategies, a row each; the fastest is named below."""
    unit, length = time_unit(max((result.wall_s for result in results), default=0.0))
    tasks = list(dict.fromkeys(name for result in results for name in result.tasks))
    tasks = tasks if len(tasks) <= MOST_COLUMNS else []
    columns = [f"wall\n({unit})", "speedup\n(x)", "fraction\nof ideal\n(%)"]
    columns += ["own\nfraction\n(%)", "energy\n(J)"]
    columns += [f"{name}\n({unit},\nslowdown)" for name in tasks]
    table = make_table(["strategy"], columns)
    for result in results:
        shares = percent(result.fraction_of_ideal), percent(result.own_fraction)
        per_task = (
            f"{found.time_s / length:.3f}, {times(found.slowdown)}" if found else MISSING
            for found in map(result.tasks.get, tasks)
        )
        wall, speedup = f"{result.wall_s / length:.3f}", f"{result.speedup:.2f}"
        add_row(table, result.strategy, wall, speedup, *shares, figures(result.energy_j), *per_task)
    if not results:
        return stack("no strategies to compare", table)
    best = min(results, key=lambda result: result.wall_s)
    title = f"{best.workload} on {best.node}: ideal speedup {times(best.ideal_speedup)}"
    fastest = f"fastest: {best.strategy}, {times(best.speedup)} as fast as one after the other"
    return stack(title, table, fastest)


def explain_table(explanation: Mapping[str, Any]) -> Group:
    """Per task, the way from the isolated to the concurrent time: each cause adds its share."""
    tasks: Mapping[str, Mapping[str, Any]] = explanation["tasks"]
    unit, length = time_unit(max((task["time_s"] for task in tasks.values()), default=0.0))
    table = make_table(
        ["task", "where the time went"], ["share of\nisolated time\n(%)", f"time\n({unit})"]
    )
    for name, task in tasks.items():
        account = {"alone (isolated time)": 1.0}
        for cause, share in task["causes"].items():
            if abs(share) >= VISIBLE:
                account[f"+ {cause.replace('_', ' ')}"] = share
        account["+ left over (not explained)"] = task["left_over"]
        for position, (line, share) in enumerate(account.items()):
            share_time = share * task["isolated_s"] / length
            add_row(table, "" if position else name, line, percent(share), f"{share_time:.3f}")
        total = f"= together with the others ({times(task['slowdown'])})"
        add_row(table, "", total, percent(task["slowdown"]), f"{task['time_s'] / length:.3f}")
        table.add_section()
    title = "{workload} on {node}, strategy {strategy}".format_map(explanation)
    reasons = [
        f"{name}: {text}" for name, task in tasks.items() for text in task.get("reasons", ())
    ]
    return stack(title, table, f"causes below {percent(VISIBLE, 2)} % are not listed", *reasons)


def _longest(result: Result) -> Result:
    """*result* with no more than MOST_ROWS tasks: those that run longest, in their order."""
    if len(result.tasks) <= MOST_ROWS:
        return result
    by_time = sorted(result.tasks, key=lambda name: -_duration(result, name))
    kept = frozenset(by_time[:MOST_ROWS])
    tasks = {name: task for name, task in result.tasks.items() if name in kept}
    return replace(result, tasks=tasks)


def _duration(result: Result, name: str) -> float:
    return result.tasks[name].end_s - result.tasks[name].start_s


def _share(fraction: float | None) -> str:
    return MISSING if fraction is None else f"{percent(fraction)} %"
