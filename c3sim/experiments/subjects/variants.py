"""A collective by every DMA variant beside a GEMM, and how a way to choose one decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from c3sim.evaluation.losses import overlap
from c3sim.evaluation.strategies.dma_variants import recommended_variants, variants, with_variants
from c3sim.evaluation.strategies.rewrites import baseline, on_dma
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.experiments.cases import Case, collective_of, gemm_of, shape_of
from c3sim.experiments.study import Row
from c3sim.simulation.run import Run
from c3sim.simulation.runs import isolated, run_once
from c3sim.spec.workload import HostThreads, Workload

#: Wall times closer than this, relative, are as good as each other. A copy that is under way when
#: a round of tiles begins costs a GEMM 0.1 % through its share of the cache, however short it is.
SAME = 2e-3


def host_name(host: HostThreads) -> str:
    """The host of a variant in words, who submits and how: ``a thread per GPU, kernels queued,
    commands direct``.
    """
    thread = "one thread" if host.threads == "single" else "a thread per GPU"
    return f"{thread}, kernels {host.launch}, commands {host.submission.replace('_', ' ')}"


def _good(walls: Mapping[str, float]) -> list[str]:
    """The variants that are as good as the best of them, in order."""
    least = min(walls.values())
    return [name for name, wall in walls.items() if wall <= (1 + SAME) * least]


def _quickest_by_one_thread(case: Case, workloads: Mapping[str, Workload], name: str) -> str:
    """The variant that is quickest alone when one thread writes the rings of all GPUs."""

    def time(variant: str) -> float:
        workload = workloads[variant]
        return isolated(
            case.node, workload.changed(host__threads="single", host__submission="direct"), name
        ).end

    return min(workloads, key=time)


def _programs(case: Case) -> tuple[Workload, dict[str, Workload]]:
    """The baseline of *case* on engines, and with its collective by each variant."""
    name, task = collective_of(case)
    on_engines = on_dma(baseline(case.workload, case.node), case.node)
    return on_engines, {
        variant.name: with_variants(on_engines, {name: variant})
        for variant in variants(case.node, task.op)
    }


def row_of(case: Case, strategies: Sequence[str]) -> Row:
    """Isolated times, every strategy, every variant, and what each chooser names."""
    (name, task), (gemm_name, gemm), node = collective_of(case), gemm_of(case), case.node
    common = baseline(case.workload, node)
    alone = [isolated(node, common, part).end for part in (gemm_name, name)]
    on_engines, workloads = _programs(case)

    def outcome(run: Run) -> Row:
        """The GEMM and the collective together."""
        return Row(
            wall_s=run.end,
            gemm_slowdown=run.task(gemm_name).end / alone[0],
            collective_s=run.task(name).end,
            fraction_of_ideal=overlap(alone, run.end).fraction,
        )

    times = {variant: isolated(node, each, name).end for variant, each in workloads.items()}
    chosen = {
        "conccl_latte": recommended_variants(on_engines, node).variants[name].name,
        "alone": min(times, key=lambda variant: times[variant]),
        "one_thread": _quickest_by_one_thread(case, workloads, name),
    }
    chosen |= {fixed: fixed for fixed in ("pcpy_pl", "pcpy") if fixed in workloads}
    together = {
        variant: Row(outcome(run_once(node, each)), alone_s=times[variant])
        for variant, each in workloads.items()
    }
    what = Row(
        scenario=case.name, label=case.label or case.name, host=host_name(case.workload.host)
    )
    what.update(collective=task.op, size_bytes=int(task.size), gemm=shape_of(gemm))
    what.update(gemm_isolated_s=alone[0], comm_isolated_s=alone[1])
    what.update(ideal_speedup=sum(alone) / max(alone))
    by_strategy = {
        strategy: outcome(best_candidate(strategy, case.workload, node).run)
        for strategy in strategies
    }
    return Row(what, strategies=by_strategy, variants=together, **_best(together, chosen))


def _best(together: Mapping[str, Row], chosen: Mapping[str, str]) -> Row:
    """The best variant of all run *together* with the GEMM, and the regrets of those *chosen*."""
    walls = {variant: each.wall_s for variant, each in together.items()}
    best = min(walls, key=lambda variant: walls[variant])
    return Row(
        best=best,
        soonest=min(together, key=lambda variant: together[variant].collective_s),
        good=_good(walls),
        good_not_prelaunched=_good({v: w for v, w in walls.items() if not v.endswith("_pl")}),
        chosen=chosen,
        regret={who: walls[variant] / walls[best] - 1 for who, variant in chosen.items()},
    )
