"""The overlap of tasks, against the best possible one: pure arithmetic on times.

    serial = sum of the isolated times      ideal speedup = serial / least time
    speedup = serial / wall                 fraction of ideal = (speedup - 1) / (ideal speedup - 1)

The least time is the longest chain of tasks that wait for each other, or all that one resource has
to do (simulation/critical_path.py); of a pair, its longer task. The caller says which isolated
times are meant.

When an overlap loses, and why: attribution by removal.

An overlap loses where its tasks together take longer than one after the other; a schedule of
pieces, where they take longer than the whole pair one after the other. With

    W, S    the wall time; the whole, one after the other
    W_k     the wall time without the cost k: a kind of sharing, or packets, releases, tails
    W_0     without any of them; P_0, S_0: what pieces, and the whole, take alone without any

the loss is, term by term,

    W - S = sum of (W - W_k) + (P_0 - S_0) + together - (P_0 - W_0) - (S - S_0)
            by removal         decomposition            hidden        the whole's own

and *together* is what removals one by one leave of W - W_0. What pieces take alone is their GEMMs
without what moves, and that without GEMMs, so a GEMM that waits for a piece is no loss. A producer
that is stalled by its own stores is one, under its cause, however short what follows it becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.result import Losses
from c3sim.simulation.runs import each_isolated, kinds_of, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.schedules import expanded, whole
from c3sim.spec.workload import Task, Workload, parse_after
from c3sim.tasks.plan import kind_of

NOTHING_TO_GAIN = 1e-9  # relative: an ideal speedup this close to 1 is 1


@dataclass(frozen=True, slots=True)
class Overlap:
    """*fraction* is None where nothing can overlap: one task, or an ideal speedup of 1."""

    serial: float
    least: float
    ideal_speedup: float
    speedup: float
    fraction: float | None


def overlap(isolated: Sequence[float], wall: float, least: float | None = None) -> Overlap:
    """From the *isolated* times of the tasks, the *wall* time of them together and the *least* one
    [s]; without it, of a pair whose tasks wait for nothing.
    """
    serial = sum(isolated)
    least = max(isolated) if least is None else least
    ideal, speedup = serial / least, serial / wall
    fraction = (speedup - 1) / (ideal - 1) if ideal - 1 > NOTHING_TO_GAIN else None
    return Overlap(serial, least, ideal, speedup, fraction)


#: The host's cost of engine commands (spec/host.py).
_OF_COMMANDS = (
    *("copy_time", "first_copy_time", "pull_time", "batch_time", "batch_copy_time"),
    *("packet_time", "doorbell_time", "signal_time"),
)


def unpublished(workload: Workload) -> Workload:
    """Without releases and flags behind tiles."""
    return _each(workload, lambda task: kind_of(task).unpublished(task))


def filled(workload: Workload, node: Node) -> Workload:
    """With GEMMs whose last round of tiles leaves no compute unit idle."""
    return _each(workload, lambda task: kind_of(task).filled(task, node.gpu))


def without_packets(node: Node) -> Node:
    """*node* on which packets, and the calls that submit them, take no time."""
    host = node.host.changed(**dict.fromkeys(_OF_COMMANDS, 0.0))
    return node.changed(host=host, gpu__dma_engines__packet_time=0.0)


def side(workload: Workload, *, gemms: bool) -> Workload:
    """The GEMMs of *workload* without the rest; else the rest, which moves or adds, without them.
    Tasks wait for what is left.
    """
    kept = {name for name, task in workload.tasks.items() if (task.kind == "gemm") == gemms}

    def left(waits: Sequence[str]) -> tuple[str, ...]:
        return tuple(on for on in waits if parse_after(on).task in kept)

    tasks = {}
    for name, task in workload.tasks.items():
        if name in kept:
            waits = {"after": left(task.after), "launch_after": left(task.launch_after)}
            tasks[name] = task.changed(**waits)
    return workload.changed(tasks=tasks, host__order=left(workload.host.order))


def _each(workload: Workload, change: Callable[[Task], Task]) -> Workload:
    """*workload* with each task changed; itself where none is."""
    tasks = {name: change(task) for name, task in workload.tasks.items()}
    if all(tasks[name] is task for name, task in workload.tasks.items()):
        return workload
    return workload.changed(tasks=tasks)


OVERLAP_LOSES = "the overlap loses"  # how the note begins
LOSS = 0.01  # relative: tasks that take this much longer than one after the other lose
NAMED = 3  # causes that are named
NOTHING = 0.001  # of the wall time: a cause that costs less is not named
PUBLICATION, PACKETS, TAILS = "publication", "packets", "tails"
DECOMPOSITION, COMPUTE_UNITS = "decomposition", "compute_units"
BY_ENGINES = frozenset({"dma", "host"})  # kinds of sharing that count without packets

WORDS = {
    COMPUTE_UNITS: "workgroups that lack compute units",
    "cache": "caches",
    "hbm": "memory",
    "links": "links",
    "dma": "engines that tasks share",
    "clock": "the power limit",
    "host": "the host's launches",
    "store_queues": "unfinished stores to peers, which hold up the memory traffic of others",
    "posts": "packets that workgroups post",
    PUBLICATION: "releases behind tiles",
    PACKETS: "those of the host, and its calls for engines",
    TAILS: "last rounds of tiles that leave units idle",
    DECOMPOSITION: "pieces take longer than the whole",
}


@dataclass(frozen=True, slots=True)
class _Apart:
    """Times without overlap [s]: of the *whole*, and of it and its *pieces* where packets, releases
    and tails cost nothing.
    """

    whole: float
    whole_free: float
    pieces_free: float


def whole_of(workload: Workload, node: Node, strategy: str) -> Workload | None:
    """Baseline of the schedule of *workload*: its pair in one piece, under *strategy*; None
    where there is no schedule.
    """
    if workload.schedule is None:
        return None
    one = whole(workload)
    try:
        return best_candidate(strategy, one, node).workload
    except InputError:  # a strategy that needs more than a pair
        return one


def losses(
    node: Node, workload: Workload, wall: float, *, pair: Workload | None, serial: float
) -> Losses | None:
    """Losses of a run of *workload* that takes *wall* s; None where it does not lose.

    *pair*: whole, what *workload* has in pieces. Without it *serial* [s] is what the tasks take
    one after the other.
    """
    if len(workload.tasks) < 2:
        return None
    plain = serial if pair is None else one_after_the_other(node, pair)
    if wall - plain <= LOSS * plain:
        return None
    free, bare = without_packets(node), filled(unpublished(workload), node)
    if pair is None:
        alone = _alone(free, bare)
        own = _alone(node, workload) - alone
        masked = any(stream.compute_units for stream in workload.streams.values())
        apart = _Apart(plain, plain - own if masked else alone, alone)
    else:
        one = filled(unpublished(expanded(pair, node)), node)
        apart = _Apart(plain, one_after_the_other(free, one), one_after_the_other(free, bare))

    def end(node: Node, workload: Workload, *private: str) -> float:
        kinds = frozenset(private)
        return run_once(node, workload, kinds, by_class=pair is not None, energy=False).end

    parts = _by_removal(end, node, workload, wall)
    without_all = end(free, bare, *kinds_of(workload))
    together = wall - without_all - sum(parts.values())
    # whole tasks take longer alone than serially where masks take units from them
    cause = COMPUTE_UNITS if pair is None else DECOMPOSITION
    parts[cause] = parts.get(cause, 0.0) + apart.pieces_free - apart.whole_free
    return Losses(
        lost_s=wall - plain,
        serial_s=plain,
        parts_s=dict(sorted(parts.items(), key=lambda part: -part[1])),
        together_s=together,
        hidden_s=apart.pieces_free - without_all,
        whole_s=apart.whole - apart.whole_free,
    )


def _by_removal(
    end: Callable[..., float], node: Node, workload: Workload, wall: float
) -> dict[str, float]:
    """Time [s] that *workload* gains without each cost; those that it does not have are left out.
    What sharing engines and the host costs counts where packets are free.
    """
    free = without_packets(node)
    quick = end(free, workload)
    gains = {
        PACKETS: wall - quick,
        TAILS: wall - end(node, filled(workload, node)),
        PUBLICATION: wall - end(node, unpublished(workload)),
    }
    for kind in kinds_of(workload):
        on, before = (free, quick) if kind in BY_ENGINES else (node, wall)
        gains[kind] = before - end(on, workload, kind)
    return {cause: gain for cause, gain in gains.items() if gain}


def _alone(node: Node, workload: Workload) -> float:
    """Sum of the isolated times [s]."""
    return sum(each.end for each in each_isolated(node, workload).values())


def one_after_the_other(node: Node, workload: Workload) -> float:
    """GEMMs without the rest, and the rest without GEMMs [s]."""
    tasks = expanded(workload, node)
    halves = [side(tasks, gemms=gemms) for gemms in (True, False)]
    return sum(run_once(node, half, energy=False).end for half in halves if half.tasks)


def loss_note(lost: Losses | None) -> str | None:
    """A sentence on what is *lost*."""
    if lost is None:
        return None
    said = f"{OVERLAP_LOSES}: {_ms(lost.lost_s)} longer than one after the other"
    named = _named(lost.parts_s, NOTHING * (lost.serial_s + lost.lost_s))
    if not named:
        return f"{said}; no cost is behind it: the tasks wait for each other"
    saved = f"; {_ms(lost.hidden_s)} run beside something else" if lost.hidden_s > 0 else ""
    return f"{said}. It would gain without {named}{saved}"


def _named(parts: Mapping[str, float], least: float) -> str:
    """The largest of *parts*, those above *least*."""
    known = [f"{_words(cause)} ({_ms(cost)})" for cause, cost in parts.items() if cost > least]
    more = f", and {len(known) - NAMED} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + more


def _words(cause: str) -> str:
    """Costs that are no kind of sharing, by their names too."""
    own = cause in (PUBLICATION, PACKETS, TAILS, DECOMPOSITION)
    return f"{cause}: {WORDS[cause]}" if own else WORDS[cause]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
