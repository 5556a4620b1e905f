"""A study of kind ``keep_or_stream`` as tables."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from c3sim.output.kit.text import percent
from c3sim.studies.keep_or_stream.policies import NONE, TRIED
from c3sim.studies.keep_or_stream.study import KeepOrStreamResult

if TYPE_CHECKING:
    from rich.console import RenderableType

WORTH = 0.01  # a gain that is told
SET_ASIDE = "gemm_keep_set_aside"


def tables(result: KeepOrStreamResult) -> list[RenderableType]:
    return [_scenarios(result), _means(result)]


def _scenarios(result: KeepOrStreamResult) -> RenderableType:
    """Scenarios in which a policy changes the wall time by WORTH or more; lines that are set aside
    change every one.
    """
    from rich.table import Table

    table = Table(title=f"{result.title}: gain of wall time [5th to 95th percentile] (%)")
    table.add_column("scenario")
    policies = [policy for policy in TRIED if policy != NONE]
    for policy in policies:
        table.add_column(policy, justify="right")
    gains = {(row.scenario, row.policy): row.gain for row in result.rows}
    bands = {(band.scenario, band.policy): band for band in result.bands}
    for scenario in dict.fromkeys(row.scenario for row in result.rows):
        if max(abs(gains[scenario, each]) for each in policies if each != SET_ASIDE) < WORTH:
            continue
        cells = []
        for policy in policies:
            band = bands[scenario, policy]
            ends = f"{percent(band.p5)} to {percent(band.p95)}"
            cells.append(f"{percent(gains[scenario, policy])} [{ends}]")
        table.add_row(scenario, *cells)
    return table


def _means(result: KeepOrStreamResult) -> RenderableType:
    from rich.table import Table

    table = Table(title="Gain over all scenarios (%)")
    table.add_column("strategy, operands")
    policies = [policy for policy in TRIED if policy != NONE]
    for policy in policies:
        table.add_column(policy, justify="right")
    kinds = dict.fromkeys(row.scenario.split(" ", 1)[1] for row in result.rows)
    for kind in kinds:
        cells = []
        for policy in policies:
            gains = [
                row.gain
                for row in result.rows
                if row.policy == policy and row.scenario.split(" ", 1)[1] == kind
            ]
            ends = f"{percent(min(gains))} to {percent(max(gains))}"
            cells.append(f"mean {percent(fmean(gains))}, {ends}")
        table.add_row(kind, *cells)
    return table
