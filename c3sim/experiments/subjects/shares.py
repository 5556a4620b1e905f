"""Where the time of an iteration goes, by class of operators.

A class has the time in which it runs, communication that in which nothing else does, so shares add
up to 1 of *kernels_s*; iteration_s = kernels_s + idle_s. Where the host's launches take longest
(*host_bound*), shares are those of the same iteration as a graph: kernels that wait for the host
would let communication run by itself.
"""

from __future__ import annotations

from c3sim.experiments.iterations import IterationCase
from c3sim.experiments.study import Row
from c3sim.iterations.result import IterationResult


def row_of(case: IterationCase) -> Row:
    """Times [s] of *case*, and shares of the time of kernels by class."""
    whole = result = case.run()
    if whole.host_bound:
        result = case.with_fields(launch="graph").run()
    seconds = {name: each.busy_s for name, each in result.overlap.classes.items()}
    seconds["communication"] = result.overlap.classes["communication"].exposed_s
    kernels = sum(seconds.values())
    shares = {name: time / kernels for name, time in seconds.items()}
    return Row(
        configuration=case.name,
        node=case.node.name,
        gpus=case.node.ranks,
        iteration_s=whole.wall_s,
        kernels_s=kernels,
        idle_s=max(0.0, whole.wall_s - kernels),
        shares=shares,
        attention_gemm_share=shares["attention"] * _gemms_of_attention(result),
        host_bound=whole.host_bound,
        memory_bytes=result.memory_bytes,
        fits=result.fits,
    )


def _gemms_of_attention(result: IterationResult) -> float:
    """Part of attention's time that its batched GEMMs take, of the layers that were simulated."""
    tasks = [task for task in result.tasks.values() if task.detail["operator"] == "attention"]
    whole = sum(task.end_s - task.start_s for task in tasks)
    gemms = sum(task.end_s - task.start_s for task in tasks if task.kind == "gemm")
    return gemms / whole if whole else 0.0
