"""Studies: scenarios crossed with axes, each under several strategies, and what is concluded from
them.

    cases.py             a study's scenarios and axes as workloads on a node
    rows.py              every case under every strategy, in parallel where it pays
    run.py               a study from file to result
    summary.py           studies of one GEMM beside one collective: classes, means, fractions of ideal
    characterisation.py  isolated behaviour that publications report: CUs taken away, saturation, DMA against CUs
    variants.py          collectives on DMA engines by variant and size, and the phases of one copy
    c3_variants.py       the same beside a GEMM: which wins, and the regret of ways to choose
    kv_fetch.py          KV fetched from host memory by four methods: latency and throughput of serving
    serving_cases.py     a study of serving: what is served, on which node
    settings.py          values given for a whole study
    band.py              the means over other admissible tables of pairs

A study lists scenarios, axes, strategies and outputs; a packaged one differs from a sweep only in what it lists.
"""

from c3sim.studies.run import run_study

__all__ = ["run_study"]
