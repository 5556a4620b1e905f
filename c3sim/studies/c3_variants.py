"""One GEMM beside one collective on DMA engines by variant: which wins, and what each way to choose
one gives away.

A case is a node, and a workload with one GEMM, one collective and the host that submits. All variants run beside the GEMM
under that host; the shortest wall time is the best. A *chooser* names a variant from what it may know, and its *regret* is
the wall time of that variant over the best one, less 1:

    conccl_latte  the strategy: times alone and memory traffic (``strategies/dma_variants.py``)
    alone         the quickest alone under the same host
    one_thread    the quickest alone when one thread submits for all GPUs and writes the engines' rings, as dma-latte runs it
    pcpy, pcpy_pl  always the same
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, quantiles
from typing import Any

from c3sim.evaluation.overlap import overlap
from c3sim.simulation.runs import isolated, run_once
from c3sim.simulation.simulate import Run
from c3sim.specs.workload import HostThreads, Workload
from c3sim.strategies.best import best_candidate
from c3sim.strategies.dma_variants import recommended_variants, variants, with_variants
from c3sim.strategies.rewrites import baseline, on_dma
from c3sim.studies.cases import Case, gather_of, gemm_of
from c3sim.studies.rows import CHUNK, WORTH_IT, Progress

CHOOSERS = ("conccl_latte", "alone", "one_thread", "pcpy_pl", "pcpy")
# wall times closer than this, relative, are as good as each other: a copy that is under way when a
# round of
SAME = 2e-3
# tiles begins costs a GEMM 0.1 % through its share of the cache, however short it is

Row = dict[str, Any]


def c3_variant_study(
    cases: Sequence[Case],
    strategies: Sequence[str],
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """``rows`` (a case each) and ``choosers`` (a host and chooser each). *n_jobs* left out: all
    cores if that pays.
    """
    jobs = (-1 if len(cases) >= WORTH_IT else 1) if n_jobs is None else n_jobs
    rows: list[Row] = []
    for found in _each(cases, strategies, jobs):
        rows += found
        if progress is not None:
            progress("scenarios", len(rows), len(cases))
    return {"rows": rows, "choosers": chooser_summary(rows)}


def chooser_summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Per host and chooser: mean, 90th percentile and largest regret, in how many cases it is as
    good as the best.
    """
    found = []
    for host in dict.fromkeys(row["host"] for row in rows):
        here = [row for row in rows if row["host"] == host]
        for name in (name for name in CHOOSERS if all(name in row["regret"] for row in here)):
            regrets = [row["regret"][name] for row in here]
            worst = max(here, key=lambda row: row["regret"][name])
            p90 = (
                quantiles(regrets, n=10, method="inclusive")[-1] if len(regrets) > 1 else regrets[0]
            )
            found.append(
                {
                    "host": host,
                    "chooser": name,
                    "mean": fmean(regrets),
                    "p90": p90,
                    "max": max(regrets),
                    "good_in": sum(regret <= SAME for regret in regrets),
                    "of": len(here),
                    "worst": worst["scenario"],
                    "worst_chosen": worst["chosen"][name],
                    "worst_best": worst["best"],
                }
            )
    return found


def host_name(host: HostThreads) -> str:
    """Who submits and how, in words: ``a thread per GPU, kernels queued, commands direct``."""
    thread = "one thread" if host.threads == "single" else "a thread per GPU"
    return f"{thread}, kernels {host.launch}, commands {host.submission.replace('_', ' ')}"


def _each(cases: Sequence[Case], strategies: Sequence[str], jobs: int) -> Iterator[list[Row]]:
    if jobs == 1:
        yield from ([_row(case, strategies)] for case in cases)
        return
    from joblib import Parallel, delayed

    chunks = [cases[start : start + CHUNK] for start in range(0, len(cases), CHUNK)]
    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)
    yield from parallel(delayed(_rows)(chunk, strategies) for chunk in chunks)


def _rows(cases: Sequence[Case], strategies: Sequence[str]) -> list[Row]:
    return [_row(case, strategies) for case in cases]


def _row(case: Case, strategies: Sequence[str]) -> Row:
    (name, task), (gemm_name, gemm), node = gather_of(case), gemm_of(case), case.node
    common = baseline(case.workload, node)
    alone = [isolated(node, common, part).end for part in (gemm_name, name)]

    def entry(run: Run) -> dict[str, Any]:
        return {
            "wall_s": run.end,
            "gemm_slowdown": run.task(gemm_name).end / alone[0],
            "collective_s": run.task(name).end,
            "fraction_of_ideal": overlap(alone, run.end).fraction,
        }

    moved = on_dma(common, case.node)
    made = {
        variant.name: with_variants(moved, {name: variant}) for variant in variants(node, task.op)
    }
    times = {variant: isolated(node, workload, name).end for variant, workload in made.items()}
    found = {
        variant: {**entry(run_once(node, workload)), "alone_s": times[variant]}
        for variant, workload in made.items()
    }
    best, soonest = (
        min(found, key=lambda v: found[v][what]) for what in ("wall_s", "collective_s")
    )
    chosen = {
        "conccl_latte": recommended_variants(moved, node).variants[name].name,
        "alone": min(times, key=lambda variant: times[variant]),
        "one_thread": _quickest(case, made, name),
    }
    chosen |= {fixed: fixed for fixed in ("pcpy_pl", "pcpy") if fixed in made}
    return {
        "scenario": case.name,
        "label": case.label or case.name,
        "host": host_name(case.workload.host),
        "collective": task.op,
        "size_bytes": int(task.size),
        "gemm": {"m": gemm.m, "n": gemm.n, "k": gemm.k, "dtype": gemm.dtype},
        "gemm_isolated_s": alone[0],
        "comm_isolated_s": alone[1],
        "ideal_speedup": sum(alone) / max(alone),
        "strategies": {word: entry(best_candidate(word, case.workload, node).run) for word in strategies},
        "variants": found,
        "best": best,
        "soonest": soonest,
        "good": _good(found),
        "good_not_prelaunched": _good({v: x for v, x in found.items() if not v.endswith("_pl")}),
        "chosen": chosen,
        "regret": {
            who: found[what]["wall_s"] / found[best]["wall_s"] - 1 for who, what in chosen.items()
        },
    }


def _good(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The variants that are as good as the best of them, in order."""
    least = min(entry["wall_s"] for entry in found.values())
    return [name for name, entry in found.items() if entry["wall_s"] <= (1 + SAME) * least]


def _quickest(case: Case, made: Mapping[str, Workload], name: str) -> str:
    """The variant that is quickest alone when one thread writes the rings of all GPUs."""

    def time(variant: str) -> float:
        host = made[variant].host.model_copy(update={"threads": "single", "submission": "direct"})
        return isolated(case.node, made[variant].model_copy(update={"host": host}), name).end

    return min(made, key=time)
