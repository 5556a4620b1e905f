"""Notes on a result: how a strategy chose, and why a run can beat the ideal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from c3sim.evaluation.losses import Overlap, loss_note, losses, one_after_the_other, whole_of
from c3sim.evaluation.strategies.rewrites import REDUCTIONS, staying_note
from c3sim.evaluation.strategies.table import Best, Candidate, exhaustive
from c3sim.evaluation.trust import alone, conditions, outside
from c3sim.result import Losses
from c3sim.simulation.runs import run_once
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload
from c3sim.tasks.kind import ENGINES

ROUNDING = 1e-9  # relative
IDLE = "does nothing"  # what is set and has no effect
PAST_IDEAL = "faster than ideal: "  # how the reason begins
LOSES = "the choice loses"  # how the note of a strategy begins that lost against as_written
NAMED = 3  # tasks of which one thing is said
LOSS = 0.001  # relative: a choice that is slower by less does not lose


@dataclass(frozen=True)
class Noted:
    """Subject of notes: the run of the *best* candidate of *strategy* for the workload *given*,
    *workload* without its schedule; *common*, *own*: against isolated times of the baseline, and
    as run.
    """

    given: Workload
    workload: Workload
    node: Node
    strategy: str
    best: Best
    common: Overlap
    own: Overlap

    @cached_property
    def pair(self) -> Workload | None:
        """The pair that it has in pieces, whole."""
        return whole_of(self.given, self.node, self.strategy)

    @cached_property
    def lost(self) -> Losses | None:
        """The part of the ideal that it loses, by cause; None: it has no ideal."""
        if self.pair is None and self.common.fraction is None:
            return None
        run = self.best.workload, self.best.run.end
        return losses(self.node, *run, pair=self.pair, serial=self.own.serial)


def notes(on: Noted) -> tuple[str, ...]:
    """Notes on a run."""
    best, node = on.best, on.node
    texts = [f"{node.nodes} nodes of {node.gpus} GPUs"] if node.nodes > 1 else []
    if len(best.names) > 1:
        texts.append(f"{best.candidate.name} is the best of: {', '.join(best.names)}")
    texts += [
        f"{_listed(names, 'run')} as {variant}, chosen from isolated times"
        for variant, names in _by_words(best.candidate.detail.get("variants", {})).items()
    ]
    asked = filter(None, (conditions(node, task) for task in best.workload.tasks.values()))
    if any(each.owner == ENGINES and each.family in REDUCTIONS for each in asked):
        texts.append(
            "what-if: DMA engines that reduce (gpu.dma_engines.reduce_bandwidth); none is known to"
        )
    texts += filter(None, [staying_note(best.candidate.name, best.workload, node)])
    texts += _of_the_choice(on)
    texts += [] if on.pair is None else [_against_the_whole(on.pair, node, best)]
    texts += filter(None, [loss_note(on.lost)])
    if len(on.workload.tasks) > 1 and on.common.fraction is None:
        texts.append("nothing can overlap: every task waits for another one, or for what it uses")
    if best.run.end < on.common.least * (1 - ROUNDING):
        texts.append(PAST_IDEAL + _reason(best, node, on.own.least))
    texts += _channels(best)
    texts += _memory(on.workload, node)
    return (*texts, *_out_of_step(best), *_over_the_limit(best, node), *_outside(best, node))


def _memory(workload: Workload, node: Node) -> Iterator[str]:
    """A warning where the tasks do not fit side by side: together, if no two share a buffer."""
    needed, capacity = (
        sum(task.operand_bytes for task in workload.tasks.values()),
        node.gpu.hbm.capacity,
    )
    if needed > capacity:
        yield (
            f"warning: tasks work on {needed / 2**30:.4g} GiB per GPU, which has"
            f" {capacity / 2**30:.4g} GiB; they fit only if they share buffers"
        )


def _of_the_choice(on: Noted) -> Iterator[str]:
    """Loss of a strategy that chooses, against the best choice and against no strategy."""
    if on.strategy == "auto":
        rival, loss = auto_loss(on.best, on.node, exhaustive(on.workload, on.node))
        yield (
            f"auto chose {on.best.candidate.name} from isolated times;"
            f" {100 * loss:.1f} % slower than the best choice, {rival}"
        )
    if on.best.candidate.detail:
        plain = run_once(on.node, on.workload).end
        loss = on.best.run.end / plain - 1
        if loss > LOSS:
            yield f"{LOSES}: {100 * loss:.1f} % slower than as_written"


def _against_the_whole(pair: Workload, node: Node, best: Best) -> str:
    """Serial time and speedup are those of pieces, of which the whole knows nothing."""
    serial = one_after_the_other(node, pair)
    return (
        f"whole, one after the other, the pair takes {1e3 * serial:.4g} ms, in pieces as run"
        f" {1e3 * best.run.end:.4g} ms: {serial / best.run.end:.2f} times as fast"
    )


def _out_of_step(best: Best) -> list[str]:
    """The distance between the ways in which ranks may begin; a jitter that none of them has."""
    host, ways = best.workload.host, best.run.outcomes
    if host.jitter and host.release == "event":
        return [f"jitter {IDLE}: one event lets the ranks begin (workload.host.release)"]
    if not ways:
        return []
    ends = [1e3 * way.end for way in ways]
    if best.run.drift:
        return [
            f"ranks drift apart: wall {min(ends):.3f} to {max(ends):.3f} ms, times are medians over"
            " ranks and turns of loops that are drawn"
        ]
    return [
        f"ranks begin by themselves, in one of {len(ways)} ways: wall {min(ends):.3f} to"
        f" {max(ends):.3f} ms, times are medians of the slowest rank"
    ]


def _channels(best: Best) -> list[str]:
    """A note on collectives whose messages fill some of their library's channels."""
    run, words = best.run, {}
    for name in best.workload.tasks:
        detail = run.task(name).detail
        if "of_channels" in detail:
            words[name] = f"{detail['channels']} of {detail['of_channels']} channels"
    return [
        f"{_listed(names, 'take')} {count}, as many as a message of this size fills"
        for count, names in _by_words(words).items()
    ]


def _outside(best: Best, node: Node) -> list[str]:
    """A note on the tasks that lie outside what their library was calibrated on, by reason, with
    the error of such tasks alone where they were measured.
    """
    said = {
        name: f"{words}; {alone(node, best.workload, name)}"
        for name, words in outside(node, best.workload).items()
    }
    return [
        f"{_listed(names, 'lie')} outside the calibrated domain: {words}"
        for words, names in _by_words(said).items()
    ]


def _by_words(said: Mapping[str, str]) -> dict[str, list[str]]:
    """Group tasks by the text *said* of them."""
    names: dict[str, list[str]] = {}
    for name, words in said.items():
        names.setdefault(words, []).append(name)
    return names


def _listed(names: Sequence[str], verb: str) -> str:
    """Up to NAMED of *names*, the others counted, with their *verb*."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more} {verb}{'s' if len(names) == 1 else ''}"


def auto_loss(best: Best, node: Node, rivals: Sequence[Candidate]) -> tuple[str, float]:
    """The candidate with the shortest wall time, and how much longer [fraction of it] the one that
    ``auto`` chose takes (>= 0).
    """
    walls = {rival.name: run_once(node, rival.workload).end for rival in rivals}
    walls.setdefault(best.candidate.name, best.run.end)
    shortest = min(walls, key=lambda name: walls[name])
    return shortest, best.run.end / walls[shortest] - 1


def _over_the_limit(best: Best, node: Node) -> list[str]:
    """A note where the GPUs take more than their power limit over the run: its average has not
    reached the limit yet, or the lowest clock still takes too much.
    """
    clock, watts = node.gpu.clock, best.run.energy / best.run.end / node.ranks
    limit = best.workload.host.power_share * clock.power_limit
    if watts <= limit * (1 + ROUNDING):
        return []
    text = f"takes {watts:.0f} W per GPU, more than the limit of {limit:.0f} W, "
    if clock.power_window == 0:
        return [text + "which the lowest clock does not reach"]
    return [
        f"{text}which acts on an average over {1e3 * clock.power_window:g} ms; a loop is slower"
        " (--set gpu.clock.power_window='0 s')"
    ]


def _reason(best: Best, node: Node, own: float) -> str:
    """The reason for a wall time below the least time of the baseline; *own*: as the tasks were
    run.
    """
    least = own * (1 - ROUNDING)
    if best.run.end >= least:
        return "alone, too, the tasks are faster under this strategy than on all compute units"
    for kind, words in (("clock", "the power limit"), ("cache", "the shared caches")):
        if run_once(node, best.workload, frozenset({kind})).end >= least:
            return f"{words} let the tasks together be faster than one of them alone"
    if len(best.workload.tasks) > 2:
        return "tasks of one kind run side by side, each with room that the others leave"
    return (
        "the tasks together disturb the longest of them less than it disturbs itself alone"
        " (dispatch)"
    )
