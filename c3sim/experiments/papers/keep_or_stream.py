"""Kind ``keep_or_stream``: do cache policies help a GEMM beside collectives and copies?

Each scenario runs under each strategy, with cold operands and as the last turn of a loop left them,
under each policy. A gain is how much shorter the wall time is than without a policy, as a part of
that; its band is that of draws of what is known of caches and memory within intervals only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.effort import RUNS, Effort, effort_of
from c3sim.experiments.bands import latin_hypercube, parameters_of, settings_at, spread
from c3sim.experiments.cases import Case, workload_cases
from c3sim.experiments.points import Settings
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.output.kit.grid import Table
from c3sim.output.kit.panels import Panel
from c3sim.output.kit.text import percent
from c3sim.simulation.runs import run_once
from c3sim.spec.cache_policy import OperandPolicy, Policy, TransferPolicy
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import LoadedNode, open_study
from c3sim.spec.reading.paths import set_si
from c3sim.spec.study import Study
from c3sim.spec.workload import Collective, Copy, Gemm, Workload
from c3sim.strategies.table import best_candidate

NONE = "none"
WORTH_TELLING = 0.01  # of a gain
SET_ASIDE = "gemm_keep_set_aside"  # what it loses hides what the others gain
#: Numbers that are drawn: those of a node that caches and memory have.
DRAWN = ("gpu.cache_policies.", "gpu.memory_side_cache.", "gpu.hbm.", "gpu.l2.")
INPUTS = ("cold", "warm")
CAPACITY = "gpu.memory_side_cache.capacity"
Tried = Callable[[Node, Workload], tuple[Node, Workload]]


def _each(kinds: Any, **update: object) -> Tried:
    """Tasks of *kinds* with the fields of *update*."""

    def tried(node: Node, workload: Workload) -> tuple[Node, Workload]:
        tasks = {
            name: task.model_copy(update=update) if isinstance(task, kinds) else task
            for name, task in workload.tasks.items()
        }
        return node, workload.model_copy(update={"tasks": tasks})

    return tried


def _transfers(policy: Policy) -> Tried:
    return _each(Collective | Copy, cache=TransferPolicy(memory_side=policy))


keep = _each(Gemm, cache=OperandPolicy(a="keep", b="keep", memory_side="keep"))
warm = _each(Gemm, inputs="warm")


def _set_aside(node: Node, workload: Workload) -> tuple[Node, Workload]:
    """Operands kept in lines that the host has set aside."""
    node, workload = keep(node, workload)
    host = workload.host.model_copy(update={"set_aside": True})
    return node, workload.model_copy(update={"host": host})


def _twice(node: Node, workload: Workload) -> tuple[Node, Workload]:
    cache = node.gpu.memory_side_cache
    assert cache is not None  # asked before
    return set_si(node, workload, CAPACITY, 2 * cache.capacity)


TRIED: dict[str, Tried] = {
    NONE: lambda node, workload: (node, workload),
    "transfers_stream": _transfers("stream"),
    "transfers_bypass": _transfers("bypass"),
    "gemm_keep": keep,
    SET_ASIDE: _set_aside,
    "stream_and_keep": lambda node, workload: keep(*_transfers("stream")(node, workload)),
    "twice_the_cache": _twice,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """*case* under *strategy* with *inputs*, at each of *settings*."""

    name: str
    node: Node
    case: Case
    strategy: str
    inputs: str
    settings: Sequence[Settings]


def cases(asked: Asked) -> list[Kept]:
    """The cases of the study named as pool, then of the study itself. Raises InputError: a node
    without memory-side cache.
    """
    study, node = asked.study, asked.nodes()[0]
    pool = workload_cases(open_study(study.pool), node) if study.pool is not None else []
    found = [*pool, *workload_cases(asked.loaded, node)]
    node = found[0].node
    if node.gpu.memory_side_cache is None or node.gpu.cache_policies is None:
        raise InputError(f"{node.name} has no memory-side cache whose policies are known", "node")
    settings: list[Settings] = [(), *(_draws(asked, node) if asked.options.band else ())]
    return [
        Kept(
            name=f"{case.name} {strategy} {inputs}",
            node=case.node,
            case=case,
            strategy=strategy,
            inputs=inputs,
            settings=settings,
        )
        for case in found
        for strategy in study.strategies
        for inputs in INPUTS
    ]


def _draws(asked: Asked, node: Node) -> list[Settings]:
    band = asked.study.band
    if band is None:
        return []
    known = parameters_of(LoadedNode(node=node, provenance=asked.provenance()))
    drawn = [each for each in known if each.path.startswith(DRAWN)]
    count = band.draws if asked.options.draws is None else asked.options.draws
    rows = latin_hypercube([each.path for each in drawn], count, band.seed)
    return [settings_at(drawn, row) for row in rows]


def effort(asked: Asked, cases: Sequence[Kept]) -> tuple[Effort, int]:
    one = Effort.mean(effort_of(each.case.workload, each.node) for each in cases)
    runs = len(INPUTS) * len(cases[0].settings) * len(TRIED) // RUNS
    return one, len(cases) // len(INPUTS) * max(1, runs)


def row(kept: Kept, _: Study) -> Row:
    """Wall times by policy, at each of the settings."""
    case, walls = kept.case, Row({policy: [] for policy in TRIED})
    workload = warm(case.node, case.workload)[1] if kept.inputs == "warm" else case.workload
    workload = best_candidate(kept.strategy, workload, case.node).workload
    for settings in kept.settings:
        node, changed = case.node, workload
        for path, value in settings:
            node, changed = set_si(node, changed, path, value)
        for policy, tried in TRIED.items():
            walls[policy].append(run_once(*tried(node, changed), energy=False).end)
    return walls


def reduce(asked: Asked, cases: Sequence[Kept], rows: list[Row]) -> Mapping[str, Any]:
    """``rows`` and ``bands`` in one order; scenarios are named with strategy and inputs."""
    found, bands = [], []
    for case, walls in zip(cases, rows, strict=True):
        for policy, of_policy in walls.items():
            gains = [1.0 - wall / base for wall, base in zip(of_policy, walls[NONE], strict=True)]
            name = Row(scenario=case.name, policy=policy)
            found.append(Row(name, wall_s=of_policy[0], gain=gains[0]))
            bands.append(Row(name, **spread(gains)))
    return {"rows": found, "bands": bands}


def _kind(row: Row) -> str:
    """Strategy and inputs."""
    return str(row.scenario.split(" ", 1)[1])


def tables(found: StudyResult) -> list[Table | str]:
    """Scenarios in which a policy changes the wall time by a per cent or more."""
    bands = {(band.scenario, band.policy): band for band in found.bands}
    lines = []
    for scenario, rows in grouped(found.rows, lambda row: row.scenario).items():
        if max(abs(row.gain) for row in rows if row.policy != SET_ASIDE) >= WORTH_TELLING:
            ends = {row.policy: bands[scenario, row.policy] for row in rows[1:]}
            cells = {
                row.policy: f"{percent(row.gain)} [{percent(ends[row.policy].p5)} to"
                f" {percent(ends[row.policy].p95)}]"
                for row in rows[1:]
            }
            lines.append({"scenario": scenario, "gain": cells})
    title = f"{found.title}: gain of wall time [5th to 95th percentile] (%)"
    means = []
    for kind, rows in grouped(found.rows, _kind).items():
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


def panels(found: StudyResult) -> list[Panel]:
    """The gain of each policy in every scenario, with its band."""
    drawn = []
    for kind, bands in grouped(found.bands, _kind).items():
        of_policy = grouped(bands, lambda band: band.policy)
        shown = {n: each for n, each in of_policy.items() if n not in (NONE, SET_ASIDE)}
        series = {name: [100 * band.median for band in each] for name, each in shown.items()}
        ends = {name: [(100 * b.p5, 100 * b.p95) for b in each] for name, each in shown.items()}
        x = [band.scenario.split(" ", 1)[0] for band in of_policy[NONE]]
        title = f"{kind} operands: gain of wall time"
        drawn.append(Panel(title=title, unit="%", x=x, series=series, kind="points", bands=ends))
    return drawn
