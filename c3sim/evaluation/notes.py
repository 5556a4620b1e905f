"""What a reader of a result should know: how a strategy chose, and why a run can beat the ideal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from c3sim.simulation.runs import run_once
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective
from c3sim.strategies.best import Chosen
from c3sim.strategies.rewrites import REDUCTIONS
from c3sim.strategies.table import Candidate

ROUNDING = 1e-9  # relative


def notes(
    chosen: Chosen,
    node: Node,
    common: Mapping[str, float],
    alone: Mapping[str, float],
    rivals: Sequence[Candidate] = (),
) -> tuple[str, ...]:
    """Notes on a run. *common*, *alone*: isolated times [s] by the yardstick and as run; *rivals*:
    of ``auto``.
    """
    found = [f"{node.nodes} nodes of {node.gpus} GPUs"] if node.nodes > 1 else []
    if len(chosen.walls) > 1:
        found.append(f"{chosen.candidate.name} is the best of: {', '.join(chosen.walls)}")
    for name, variant in chosen.candidate.detail.get("variants", {}).items():
        found.append(f"{name} runs as {variant}, chosen from isolated times")
    if any(
        isinstance(task, Collective) and task.backend == "dma" and task.op in REDUCTIONS
        for task in chosen.candidate.workload.tasks.values()
    ):
        found.append(
            "what-if: DMA engines that reduce (gpu.dma_engines.reduce_bandwidth); none is known to"
        )
    if rivals:
        best, loss = auto_loss(chosen, node, rivals)
        found.append(
            f"auto chose {chosen.candidate.name} from isolated times; {100 * loss:.1f} % slower than the best choice, {best}"
        )
    if chosen.run.wall < max(common.values()) * (1 - ROUNDING):
        found.append("faster than ideal: " + _reason(chosen, node, alone))
    found += _over_the_limit(chosen, node)
    return tuple(found)


def _over_the_limit(chosen: Chosen, node: Node) -> list[str]:
    """A note where the GPUs take more than their power limit over the run: the average has not come
    up, or nothing helps.
    """
    clock, drawn = node.gpu.clock, chosen.run.energy / chosen.run.wall / node.ranks
    if drawn <= clock.power_limit * (1 + ROUNDING):
        return []
    words = f"takes {drawn:.0f} W per GPU, more than the limit of {clock.power_limit:.0f} W, "
    if clock.power_window == 0:
        return [words + "which the lowest clock does not reach"]
    return [
        f"{words}which acts on an average over {1e3 * clock.power_window:g} ms; a loop is slower"
        " (--set gpu.clock.power_window='0 s')"
    ]


def auto_loss(chosen: Chosen, node: Node, rivals: Sequence[Candidate]) -> tuple[str, float]:
    """The best choice of all, and how much longer [fraction of its wall time] the one made takes
    (>= 0).
    """
    walls = {rival.name: run_once(node, rival.workload).wall for rival in rivals}
    walls.setdefault(chosen.candidate.name, chosen.run.wall)
    best = min(walls, key=lambda name: walls[name])
    return best, chosen.run.wall / walls[best] - 1


def _reason(chosen: Chosen, node: Node, alone: Mapping[str, float]) -> str:
    """Why the wall time is below the longest isolated time of the yardstick."""
    if chosen.run.wall >= max(alone.values()) * (1 - ROUNDING):
        return "alone, too, the tasks are faster under this strategy than on all compute units"
    for kind, words in (("clock", "the power limit"), ("cache", "the shared caches")):
        if run_once(node, chosen.workload, frozenset({kind})).wall >= max(alone.values()) * (
            1 - ROUNDING
        ):
            return f"{words} let the tasks together be faster than one of them alone"
    return "the tasks together disturb the longest of them less than it disturbs itself alone (dispatch)"
