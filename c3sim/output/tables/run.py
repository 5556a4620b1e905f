"""Tables of ``run``, ``compare`` and ``explain``: times, caches, phases, energies, parts, classes.

An *explanation* is ``{"workload", "node", "strategy", "tasks": {NAME: {"isolated_s", "time_s",
"slowdown", "causes": {CAUSE: share}, "left_over": share, "reasons": [TEXT]}}}``. Shares are
fractions of the isolated time: slowdown = 1 + sum of the causes + left over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from c3sim.evaluation.losses import OVERLAP_LOSES
from c3sim.evaluation.notes import LOSES
from c3sim.evaluation.strategies.rewrites import STAYS
from c3sim.iterations.result import IterationResult, StepTimes
from c3sim.iterations.shares import FURTHER
from c3sim.kit.layout import add_row, make_table, stack
from c3sim.kit.step import Folds, folds, slowdown, stages_shown, total
from c3sim.kit.text import (
    FRACTION_EXPLAINED,
    MISSING,
    OWN_EXPLAINED,
    figures,
    percent,
    size,
    stretched,
    time_unit,
    times,
)
from c3sim.result import Result

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

WIDTH = 100  # columns that a comparison fits
CELL = 14  # of "12.345, 1.23x"
COMPARED = 12  # tasks that each have a column of a comparison
VISIBLE = 0.0005  # the least share that is not written as 0.0 %


def run_table(result: Result) -> Group:
    """One run: its times in header lines, then a row per task or fold of tasks, energies, notes."""
    unit, length = time_unit(result.wall_s)
    overlap, power = result.overlap, result.power
    by = "" if overlap.stretched_s is None else f"{overlap.stretched_s / length:.3f} {unit}"
    times_of_run = (
        f"wall {result.wall_s / length:.3f} {unit}, serial {result.serial_s / length:.3f} {unit}, "
        f"ideal speedup {times(result.ideal_speedup)}, speedup {times(result.speedup)}\n"
        f"fraction of ideal {_share(result.fraction_of_ideal)}, "
        f"own fraction {_share(overlap.own_fraction)}, "
        f"exposed {overlap.exposed_s / length:.3f} {unit}, stretched {by or MISSING}\n"
        f"energy {figures(result.energy_j)} J, mean power {figures(power.average_w)} W "
        f"({figures(power.average_w / result.ranks.count)} W per GPU)\n"
        f"memory {size(result.memory_bytes)} per GPU, if no two tasks share a buffer"
        f"{_uncounted(result)}"
    )
    title = f"{result.workload} on {result.node}, strategy {result.strategy}"
    return stack(
        title,
        times_of_run,
        *_task_table(result, unit, length),
        *cache_parts(result),
        *phase_tables(result),
        *([] if result.fraction_of_ideal is None else (FRACTION_EXPLAINED, OWN_EXPLAINED)),
        *(("", energy_table(result), standing(power.measured)) if power.energy else ()),
        *(f"note: {note}" for note in result.notes),
        *filter(None, [result.trust]),
    )


def _uncounted(result: Result) -> str:
    """Says that kernels of any kind are left out: their bytes are traffic, read again or not."""
    count = sum(task.kind == "kernel" for task in result.tasks.values())
    return f"; not counted: {count} of kind kernel, whose bytes are traffic" if count else ""


def _task_table(result: Result, unit: str, length: float) -> tuple[Table, str]:
    """A row per task, or per fold of many, and what its columns say."""
    tasks, rows = result.tasks, folds(result.tasks)
    clocks = [f"{name}\n({unit})" for name in ("isolated", "start", "end")]
    parts = [
        f"{name}\n({unit})" for name in ("waited\nfor tasks", "waited\nfor room", "ran\nslower")
    ]
    table = make_table(["task", "kind"], [*clocks, "slowdown\n(x)", *parts, "energy\n(J)"])
    for row, names in rows.items():
        spans = [
            total(tasks, names, "isolated_s"),
            min(tasks[name].start_s for name in names),
            max(tasks[name].end_s for name in names),
        ]
        lost = [total(tasks, names, field) for field in ("predecessors_s", "room_s", "slower_s")]
        add_row(
            table,
            row,
            tasks[names[0]].kind,
            *(f"{time / length:.3f}" for time in spans),
            times(slowdown(tasks, names)),
            MISSING if len(names) > 1 else f"{lost[0] / length:z.3f}",
            *(f"{time / length:z.3f}" for time in lost[1:]),
            figures(total(tasks, names, "energy_j")),
        )
    said = (
        "slowdown: end over isolated time; what it waited and ran slower adds up to the difference"
    )
    if len(rows) < len(tasks):
        said += (
            f"\n{len(tasks)} tasks in {len(rows)} rows: first start, last end, slowdown without"
            " waiting for tasks, else sums; --json has every task"
        )
    return table, said


def compare_table(results: Sequence[Result]) -> Group:
    """The same workload under several strategies, a row each: figures of the whole, then times of
    tasks in blocks that fit WIDTH columns; the fastest is named below.
    """
    unit, length = time_unit(max((result.wall_s for result in results), default=0.0))
    columns = [f"wall\n({unit})", "speedup\n(x)", "fraction\nof ideal\n(%)", "own\nfraction\n(%)"]
    columns += [f"exposed\n({unit})", f"stretched\n({unit})", "energy\n(J)"]
    table = make_table(["strategy"], columns)
    for result in results:
        shares = percent(result.fraction_of_ideal), percent(result.overlap.own_fraction)
        by = result.overlap.stretched_s
        add_row(
            table,
            result.strategy,
            f"{result.wall_s / length:.3f}",
            f"{result.speedup:.2f}",
            *shares,
            f"{result.overlap.exposed_s / length:.3f}",
            MISSING if by is None else f"{by / length:z.3f}",
            figures(result.energy_j),
        )
    if not results:
        return stack("no strategies to compare", table)
    best = min(results, key=lambda result: result.wall_s)
    title = f"{best.workload} on {best.node}: ideal speedup {times(best.ideal_speedup)}"
    fastest = f"fastest: {best.strategy}, {times(best.speedup)} as fast as one after the other"
    said = [note for note in best.notes if all(note in result.notes for result in results)]
    shared = (f"note: {note}" for note in said)
    warnings = (
        f"{result.strategy}: {note}"
        for result in results
        for note in result.notes
        if (note.startswith((LOSES, OVERLAP_LOSES)) or note.endswith(STAYS)) and note not in said
    )
    blocks = _times_of_tasks(results, unit, length)
    explained = (fill(text, WIDTH) for text in (FRACTION_EXPLAINED, OWN_EXPLAINED))
    words = (*explained, *shared, fastest, *warnings, *_left_out(results))
    return stack(title, table, *blocks, *words, *([best.trust] if best.trust else []))


def _left_out(results: Sequence[Result]) -> Iterator[str]:
    """Lines on strategies that could not apply, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in getattr(results, "left_out", {}).items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield fill(f"left out: {', '.join(names)}: {reason}", WIDTH)


def _times_of_tasks(results: Sequence[Result], unit: str, length: float) -> Iterator[Any]:
    """End and slowdown of each task, or fold of tasks, under each strategy."""
    every = {name: task for result in results for name, task in result.tasks.items()}
    rows = folds(every, COMPARED)
    first = max(len("strategy"), *(len(result.strategy) for result in results))
    block: list[str] = []
    for row in [*rows, None]:
        widths = first + 1 + sum(max(CELL, len(each)) + 2 for each in (*block, row or ""))
        if block and (row is None or widths > WIDTH):
            yield from ("", _block(results, {name: rows[name] for name in block}, length))
            block = []
        block += [row] if row else []
    more = ""
    if len(rows) < len(every):
        more = f"; {len(every)} tasks in {len(rows)} columns: last end, slowdown without waiting"
    yield f"times of tasks: end ({unit}), slowdown{more}"


def _block(results: Sequence[Result], rows: Folds, length: float) -> Table:
    table = make_table(["strategy"], list(rows))
    for result in results:
        cells = []
        for names in rows.values():
            there = [name for name in names if name in result.tasks]
            end = max((result.tasks[name].end_s for name in there), default=0.0)
            slower = times(slowdown(result.tasks, there)) if there else ""
            cells.append(f"{end / length:.3f}, {slower}" if there else MISSING)
        add_row(table, result.strategy, *cells)
    return table


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
    many = not 0 < len(tasks) <= COMPARED
    parts = parts_lines(explanation["parts"]) if many and "parts" in explanation else ()
    notes = [f"note: {note}" for note in explanation.get("notes", ())]
    if not tasks:
        return stack(title, *parts, *notes)
    reasons = [
        f"{name}: {text}" for name, task in tasks.items() for text in task.get("reasons", ())
    ]
    reasons += notes
    return stack(
        title, *parts, table, f"causes below {percent(VISIBLE, 2)} % are not listed", *reasons
    )


def _share(fraction: float | None) -> str:
    return MISSING if fraction is None else f"{percent(fraction)} %"


MB = 1e6
EXPLAINED = (
    "of one GPU; misses wait where every line of their set is pending; row hits: of the bytes"
    " written, 100 % is what\nmemory's efficiencies were measured with"
)


def cache_parts(result: Result) -> tuple[Table | str, ...]:
    """A row per task; nothing where nobody names a policy."""
    counted = {name: t.detail["cache"] for name, t in result.tasks.items() if "cache" in t.detail}
    if not counted:
        return ()
    numbers = ["takes lines\n(MB)", "written\n(MB)", "row hits\n(%)", "misses wait\n(%)"]
    table = make_table(["task", "written lines leave"], [*numbers, "written back\nat its end (MB)"])
    for name, counts in counted.items():
        add_row(
            table,
            name,
            counts["write_backs"],
            figures(counts["inserted_bytes"] / MB),
            figures(counts["written_bytes"] / MB),
            percent(counts["row_hits"]),
            percent(counts["stalls"]),
            figures(counts["released_bytes"] / MB),
        )
    return "", table, EXPLAINED


def phase_tables(result: Result) -> list[Table]:
    """A table for all tasks of *result* that ran in phases; empty where there is none."""
    phased = {name: task for name, task in result.tasks.items() if task.detail.get("phases")}
    if not phased:
        return []
    unit, length = time_unit(result.wall_s)
    clocks = [f"{name}\n({unit})" for name in ("start", "end", "sending")]
    table = make_table(["task", "phase"], ["parts", *clocks, "of its time\n(%)"])
    for name, task in phased.items():
        for position, phase in enumerate(task.detail["phases"]):
            start, end, sending = (phase[key] for key in ("start_s", "end_s", "sending_s"))
            spans = (f"{time / length:.3f}" for time in (start, end, sending))
            parts = str(task.detail["parts"]) if position == 0 else ""
            busy = percent(sending / (end - start)) if end > start else percent(None)
            add_row(table, "" if position else name, phase["name"], parts, *spans, busy)
    return [table]


def iteration_table(result: IterationResult) -> Group:
    """Times of an iteration in a header, a row per operator class, notes."""
    unit, length = time_unit(result.wall_s)

    def time(seconds: float) -> str:
        return f"{seconds / length:z.3f} {unit}"

    gpus = f"{result.ranks.count} GPU" + "s" * (result.ranks.count > 1)
    head = (
        f"wall {time(result.wall_s)}: computation alone {time(result.compute_s)},"
        f" communication alone {time(result.communication_s)}\n"
        f"exposed communication {time(result.overlap.exposed_s)},"
        f" {stretched('operators', result.overlap.stretched_s or 0.0, length, unit)}\n"
        f"{figures(result.tokens_per_s)} tokens/s on {gpus}, MFU {percent(result.mfu)} %, energy"
        f" {figures(result.energy_j)} J, mean power {figures(result.power.average_w)} W\n"
        f"memory {size(result.memory_bytes)} per GPU, launches {time(result.host_s)} of the host"
    )
    title = f"{result.workload} on {result.node}, strategy {result.strategy}"
    return stack(
        title,
        head,
        *_classes(result),
        *(stages_lines(result, unit, length) if result.stages else ()),
        *(f"note: {note}" for note in result.notes),
        *filter(None, [result.trust]),
    )


def step_table(step: StepTimes) -> Group:
    """The wall time, what of it is exposed communication, and a row per operator class."""
    unit, length = time_unit(step.wall_s)
    wall, exposed = (
        f"{each / length:.3f} {unit}" for each in (step.wall_s, step.overlap.exposed_s)
    )
    title = f"{step.workload} on {step.node}, strategy {step.strategy}"
    return stack(title, f"wall {wall}, exposed communication {exposed}", *_classes(step))


def _classes(result: IterationResult | StepTimes) -> tuple[Table, str]:
    """A row per operator class and further part of the wall time, and what its columns mean."""
    unit, length = time_unit(result.wall_s)
    columns = [f"busy\n({unit})", f"alone\n({unit})", "share of\nwall (%)"]
    table = make_table(["operator class"], columns)
    for name in (*result.overlap.classes, *FURTHER):
        spent, part = result.overlap.classes.get(name), result.parts.get(name, 0.0)
        if part or (spent and spent.busy_s):
            own = (spent.busy_s, spent.exposed_s) if spent else ()
            cells = [f"{each / length:.3f}" for each in own] or [MISSING, MISSING]
            add_row(table, name, *cells, percent(part / result.wall_s))
        if name == "communication" and len(result.groups) > 1:
            for group, times in result.groups.items():
                cells = [f"{each / length:.3f}" for each in (times.busy_s, times.exposed_s)]
                add_row(table, f"  of {group}", *cells, MISSING)
    add_row(table, "wall", MISSING, MISSING, percent(sum(result.parts.values()) / result.wall_s))
    return table, CLASSES_EXPLAINED


def stages_lines(result: IterationResult, unit: str, length: float) -> tuple[Table, str]:
    """A row per stage of a pipeline, and what its columns mean; of many the first and last."""
    names = ("forward", "backward", "optimizer", "exposed", "bubbles", "waits")
    columns = [f"{name}\n({unit})" for name in names]
    table = make_table(["stage"], ["layers", *columns, "held", "memory\n(GiB)"])
    for stage in stages_shown(result):
        work = (stage.forward_s, stage.backward_s, stage.optimizer_s, stage.exposed_s)
        times = [f"{each / length:.3f}" for each in (*work, stage.bubbles_s, stage.waits_s)]
        memory = f"{stage.memory_bytes / 2**30:.1f}"
        cells = (str(stage.layers), *times, str(stage.held), memory)
        add_row(table, str(stage.number), *cells)
    said = (
        "classes are the mean of the stages; exposed: of these, communication without operators;\n"
        "bubbles: as long as equal stages would be idle; waits: for other stages, beyond that"
        " (in classes: stages);\nheld: micro batches whose activations are kept, at most"
    )
    return table, said


UNVALIDATED = (
    "energies are not validated: no power was measured, most energies per action are estimates"
)
TASKS_WIDTH = (
    52  # characters for the columns of tasks; where they need more, only the total is shown
)
LEAST = 8  # of a column


def standing(measured: str) -> str:
    """A sentence on the trust in a node's energies; *measured* is what its file says of it."""
    return f"energies were compared with measured power: {measured}" if measured else UNVALIDATED


def _shown(result: Result) -> list[str]:
    """The tasks that have a column: all or none."""
    return (
        list(result.tasks)
        if sum(max(LEAST, len(n)) + 2 for n in result.tasks) <= TASKS_WIDTH
        else []
    )


def energy_table(result: Result) -> Table:
    """Energy [J] of all GPUs by component: total, share, mean power, and each task's part.

    Components without energy are left out; idle power belongs to no task.
    """
    names = _shown(result)
    columns = ["energy\n(J)", "share\n(%)", "mean power\n(W)", *(f"{name}\n(J)" for name in names)]
    table = make_table(["component"], columns)
    for component, joules in result.power.energy.items():
        if joules:
            parts = [result.tasks[name].energy.get(component) for name in names]
            cells = (MISSING if part is None else figures(part) for part in parts)
            share, power = percent(joules / result.energy_j), figures(joules / result.wall_s)
            shown = result.power.component_names.get(component, component)
            add_row(table, shown, figures(joules), share, power, *cells)
    table.add_section()
    total = [figures(result.energy_j), percent(1.0), figures(result.power.average_w)]
    add_row(table, "in all", *total, *(figures(result.tasks[name].energy_j) for name in names))
    per_byte = [result.tasks[name].energy_per_byte for name in names]
    if any(per_byte):
        cells = (
            MISSING if value is None else f"{figures(1e12 * value)} pJ/B" for value in per_byte
        )
        add_row(table, "per byte moved", *[""] * 3, *cells)
    return table


CLASSES_EXPLAINED = (
    "alone: time in which only that class runs; exposed communication: computing waits for it,"
    " its launches too, beyond the gaps that computing has by itself\n"
    "share: time in which operators run is theirs, in equal parts; launches, waiting: nothing"
    " runs until an operator, or a collective, does"
)
PARTS_EXPLAINED = (
    "nothing shared: every task has everything to itself and only waits for others. Each kind of"
    " sharing adds its column.\nwall is the whole run, exposed the time in which communication runs"
    " or is waited for and nothing is computed,\nthe others the time in which an operator class"
    " runs"
)


def parts_lines(parts: Mapping[str, Mapping[str, Any]]) -> tuple[Table, str]:
    """The table of :func:`parts_rows`, and what its columns mean."""
    heads, rows = parts_rows(parts)
    table = make_table(heads[:1], heads[1:])
    for row in rows:
        add_row(table, *row)
    return table, PARTS_EXPLAINED


def parts_rows(parts: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads, and a row per part: what it takes, which narrow terminals show too, and what that is
    made of. Causes that add nothing to any part have no column.
    """
    unit, length = time_unit(max((part["time_s"] for part in parts.values()), default=0.0))
    causes = dict.fromkeys(cause for part in parts.values() for cause in part["causes_s"])
    names = ["+ " + cause.replace("_", " ").replace(" ", "\n", 1) for cause in causes]
    heads = ["part", f"together\n({unit})", f"nothing\nshared\n({unit})", *names]
    rows = []
    for name, part in parts.items():
        shares = [part["causes_s"].get(cause, 0.0) / length for cause in causes]
        values = [part["time_s"] / length, part["unshared_s"] / length, *shares]
        rows.append([name, *(f"{value:z.3f}" for value in values)])
    return heads, rows
