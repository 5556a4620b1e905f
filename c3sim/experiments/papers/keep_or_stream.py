"""Kind ``keep_or_stream``: do cache policies help a GEMM beside collectives and copies?

Each scenario runs under each strategy, with cold operands and as the last turn of a loop left them,
under each policy. A gain is how much shorter the wall time is than without a policy, as a part of
that; its band is that of draws of what is known of caches and memory within intervals only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, mode
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.effort import RUNS, Effort, effort_of
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import parameters_of, settings_drawn, spread
from c3sim.experiments.cases import Case, workload_cases
from c3sim.experiments.study import Asked, Row, StudyResult, grouped, with_settings
from c3sim.experiments.subjects.policies import NONE, SET_ASIDE, TRIED, walls_of, warm
from c3sim.kit.grid import Table
from c3sim.kit.panels import Panel, panels_by
from c3sim.kit.text import percent
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import LoadedNode, open_study
from c3sim.spec.study import Study
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import kind_of

WORTH_TELLING = 0.01  # of a gain
#: What is drawn: numbers of a node that caches and memory have.
DRAWN = ("gpu.cache_policies.", "gpu.memory_side_cache.", "gpu.hbm.", "gpu.l2.")
INPUTS = ("cold", "warm")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """*case* under *strategy* with *inputs*, at each of *settings*; its *place* in the tables."""

    name: str
    place: int
    node: Node
    case: Case
    strategy: str
    inputs: str
    settings: Sequence[Settings]


def cases(asked: Asked) -> list[Kept]:
    """Cases of the study named as pool and of the study itself, all with the caller's settings,
    those of equal GEMMs side by side. Raises InputError: a node without memory-side cache.
    """
    study, node = asked.study, asked.nodes()[0]
    found = [*_pool(asked, node), *workload_cases(asked.loaded, node)]
    node = found[0].node
    if node.gpu.memory_side_cache is None or node.gpu.cache_policies is None:
        raise InputError(f"{node.name} has no memory-side cache whose policies are known", "node")
    settings: list[Settings] = [(), *(_draws(asked, node) if asked.options.band else ())]
    kept = [
        Kept(
            name=f"{case.name} {strategy} {inputs}",
            place=place,
            node=case.node,
            case=case,
            strategy=strategy,
            inputs=inputs,
            settings=settings,
        )
        for place, case in enumerate(found)
        for strategy in study.strategies
        for inputs in INPUTS
    ]
    return sorted(kept, key=lambda each: _products(each.case.workload))


def _pool(asked: Asked, node: Node) -> list[Case]:
    if asked.study.pool is None:
        return []
    pool = open_study(asked.study.pool)
    changed = with_settings(pool.study, asked.options.settings)
    return workload_cases(replace(pool, study=changed), node)


def _products(workload: Workload) -> tuple[int, list[str]]:
    """The number of GEMMs of *workload*; what each is, as JSON."""
    gemms = [each for each in workload.tasks.values() if kind_of(each).operator(each) == "gemm"]
    return len(gemms), [each.model_dump_json(exclude={"stream", "after"}) for each in gemms]


def together(cases: Sequence[Kept]) -> int:
    """Number of neighbours with equal GEMMs, in most groups of them: one process follows their
    lines for all.
    """
    return mode(Counter(str(_products(each.case.workload)) for each in cases).values())


def _draws(asked: Asked, node: Node) -> list[Settings]:
    band = asked.study.band
    if band is None:
        return []
    known = parameters_of(LoadedNode(node=node, provenance=asked.provenance()))
    drawn = [each for each in known if each.path.startswith(DRAWN)]
    count = band.draws if asked.options.draws is None else asked.options.draws
    return settings_drawn(drawn, count, band.seed)


def effort(asked: Asked, cases: Sequence[Kept]) -> tuple[Effort, int]:
    one = Effort.mean(effort_of(each.case.workload, each.node) for each in cases)
    runs = len(INPUTS) * len(cases[0].settings) * len(TRIED) // RUNS
    return one, len(cases) // len(INPUTS) * max(1, runs)


def row(kept: Kept, _: Study) -> Row:
    inputs = warm(kept.node, kept.case.workload)[1] if kept.inputs == "warm" else kept.case.workload
    best = best_candidate(kept.strategy, inputs, kept.node).workload
    return walls_of(kept.node, best, kept.settings)


def reduce(asked: Asked, cases: Sequence[Kept], rows: list[Row]) -> Mapping[str, Any]:
    """``rows``, and ``bands`` in their order, none where nothing is drawn; scenarios are named with
    strategy and inputs.
    """
    found, bands = [], []
    for case, walls in sorted(zip(cases, rows, strict=True), key=lambda each: each[0].place):
        for policy, of_policy in walls.items():
            gains = [1.0 - wall / base for wall, base in zip(of_policy, walls[NONE], strict=True)]
            name = Row(scenario=case.name, policy=policy)
            found.append(Row(name, wall_s=of_policy[0], gain=gains[0]))
            if gains[1:]:
                bands.append(Row(name, **spread(gains)))
    return {"rows": found, "bands": bands}


def tables(found: StudyResult) -> list[Table | str]:
    """Scenarios in which a policy changes the wall time by a per cent or more."""
    bands = {(band.scenario, band.policy): band for band in found.bands}
    lines = []
    for scenario, rows in grouped(found.rows, lambda row: row.scenario).items():
        if max(abs(row.gain) for row in rows if row.policy != SET_ASIDE) >= WORTH_TELLING:
            cells = {row.policy: _gain(row, bands.get((scenario, row.policy))) for row in rows[1:]}
            lines.append({"scenario": scenario, "gain": cells})
    title = f"{found.title}: gain of wall time{' [5th to 95th percentile]' * bool(bands)} (%)"
    means = []
    for kind, rows in grouped(found.rows, lambda row: _parts(row.scenario)[1]).items():
        of_policy = grouped(rows, lambda row: row.policy)
        gains = {n: [row.gain for row in of] for n, of in of_policy.items() if n != NONE}
        cells = {
            name: f"mean {percent(fmean(each))}, {percent(min(each))} to {percent(max(each))}"
            for name, each in gains.items()
        }
        means.append({"case": kind, "gain": cells})
    columns = ["case as strategy, operands", "gain.* >"]
    return [
        Table(title, lines, ["scenario", "gain.* >"]),
        Table("Gain over all scenarios (%)", means, columns),
    ]


def _gain(row: Row, band: Row | None) -> str:
    ends = "" if band is None else f" [{percent(band.p5)} to {percent(band.p95)}]"
    return f"{percent(row.gain)}{ends}"


def _parts(scenario: str) -> tuple[str, str]:
    """Its case, whose name may have spaces, and its strategy and operands."""
    name, *kind = scenario.rsplit(" ", 2)
    return name, " ".join(kind)


def panels(found: StudyResult) -> list[Panel]:
    """The gain of each policy in every scenario: the median of its band, where there is one."""
    lines = []
    known = {(band.scenario, band.policy): band for band in found.bands}
    for scenario, rows in grouped(found.rows, lambda row: row.scenario).items():
        names = [row.policy for row in rows if row.policy not in (NONE, SET_ASIDE)]
        bands = {name: known[scenario, name] for name in names if known}
        gains = {name: band.median for name, band in bands.items()}
        gains = gains or {row.policy: row.gain for row in rows if row.policy in names}
        ends = {name: (band.p5, band.p95) for name, band in bands.items()}
        place, kind = _parts(scenario)
        lines.append({"place": place, "kind": kind, "gain": gains, "ends": ends})
    title, ends_of = "{kind} operands: gain of wall time", "ends.* %" * bool(known)
    return panels_by(title, lines, "place", "gain.* %", kind="points", bands=ends_of)
