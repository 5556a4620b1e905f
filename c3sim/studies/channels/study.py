"""A study of kind ``channels``: GEMM time and collective bandwidth against the number of channels.

With c channels, each as long as the other is there: t(c) the GEMM's time, t0 alone, and w(c) the
collective's bandwidth. While the collective runs, the GEMM gets t0 / t(c) of its work done, so a
byte that moves beside it costs it

    loss(c) = (1 - t0 / t(c)) / w(c)

seconds of its time. As long as the collective is hidden, that is all it costs: the *knee* is the
number of channels with the least loss, of several the one with the most bandwidth. A collective
that is not hidden wants more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from c3sim.specs.hardware import Node
from c3sim.specs.study import Range, Study
from c3sim.studies.cases import Case, collective_of, gemm_of, study_cases
from c3sim.studies.channels.beside import Beside
from c3sim.studies.iterations import about, nodes_of
from c3sim.studies.kind import Options, StudyResult
from c3sim.studies.parallel import for_each
from c3sim.studies.show import grouped


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One number of channels. Bandwidths are bus bandwidths of a GPU. *gemm_cost_per_channel* and
    *bandwidth_gain_per_channel*: since the number before, per channel, as a fraction of what was
    there; None for the first number. *gemm_loss_s_per_gb*: of 1e9 bytes of the collective.
    """

    node: str
    gemm: str
    collective: str
    channels: int
    default_channels: int
    gemm_alone_s: float
    gemm_beside_s: float
    gemm_slowdown: float
    bandwidth_alone_bytes_per_s: float
    bandwidth_beside_bytes_per_s: float
    gemm_loss_s_per_gb: float
    gemm_cost_per_channel: float | None = None
    bandwidth_gain_per_channel: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Knee:
    """The number of *channels* with which a byte costs the GEMM least, and what the library's
    default number costs.
    """

    node: str
    gemm: str
    collective: str
    channels: int
    default_channels: int
    gemm_slowdown: float
    bandwidth_beside_bytes_per_s: float
    gemm_loss_s_per_gb: float
    default_gemm_loss_s_per_gb: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelsResult(StudyResult):
    """*rows*: one per GEMM, collective, node and number of channels; *knees*: one per curve."""

    rows: Sequence[Row]
    knees: Sequence[Knee]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> ChannelsResult:
    """All cases of *study* on all its nodes. Raises InputError."""
    nodes = nodes_of(study, options)
    cases = [case for node in nodes for case in study_cases(_known_to(node, study), node)]
    rows = for_each(_row, cases, ("base",), what="channels", options=options)
    curves = grouped(rows, lambda row: (row.node, row.gemm, row.collective)).values()
    return ChannelsResult(
        about=about(study, nodes),
        rows=[row for curve in curves for row in _priced(curve)],
        knees=[_knee(curve) for curve in curves],
        published=study.published,
    )


def _known_to(node: Node, study: Study) -> Study:
    """*study* with those numbers of channels that the library of *node* uses."""
    most = min(node.collective_library(None).channels.maximum, node.gpu.compute_unit_count)
    axes = {
        path: tuple(count for count in values if not isinstance(count, int) or count <= most)
        if path.endswith(".channels") and not isinstance(values, Range)
        else values
        for path, values in study.axes.items()
    }
    return study.model_copy(update={"axes": axes})


def _row(case: Case, _: Sequence[str]) -> Row:
    (_, gemm), (_, collective) = gemm_of(case), collective_of(case)
    both = Beside(case.node, gemm, collective)
    default = case.node.collective_library(collective.backend).channels.default[collective.op]
    beside, bandwidth = both.gemm_time(), both.bytes_per_gpu / both.collective_time()
    return Row(
        node=case.node.name,
        gemm=case.label or case.name.split(",")[0],
        collective=collective.op,
        channels=collective.channels or default,
        default_channels=default,
        gemm_alone_s=both.gemm_alone / both.gemm.repeat,
        gemm_beside_s=beside / both.gemm.repeat,
        gemm_slowdown=beside / both.gemm_alone,
        bandwidth_alone_bytes_per_s=both.bytes_per_gpu / both.collective_alone,
        bandwidth_beside_bytes_per_s=bandwidth,
        gemm_loss_s_per_gb=1e9 * max(0.0, 1.0 - both.gemm_alone / beside) / bandwidth,
    )


def _priced(curve: Sequence[Row]) -> list[Row]:
    """*curve* with what each number of channels costs and gives since the one before."""
    rows = [curve[0]]
    for before, row in pairwise(curve):
        more = row.channels - before.channels
        gain = row.bandwidth_beside_bytes_per_s / before.bandwidth_beside_bytes_per_s - 1.0
        cost = row.gemm_beside_s / before.gemm_beside_s - 1.0
        rows.append(
            replace(row, gemm_cost_per_channel=cost / more, bandwidth_gain_per_channel=gain / more)
        )
    return rows


def _knee(curve: Sequence[Row]) -> Knee:
    best = min(curve, key=lambda row: (_rounded(row), -row.bandwidth_beside_bytes_per_s))
    default = [row for row in curve if row.channels == row.default_channels]
    return Knee(
        node=best.node,
        gemm=best.gemm,
        collective=best.collective,
        channels=best.channels,
        default_channels=best.default_channels,
        gemm_slowdown=best.gemm_slowdown,
        bandwidth_beside_bytes_per_s=best.bandwidth_beside_bytes_per_s,
        gemm_loss_s_per_gb=best.gemm_loss_s_per_gb,
        default_gemm_loss_s_per_gb=default[0].gemm_loss_s_per_gb if default else None,
    )


def _rounded(row: Row) -> float:
    """Its loss, in which a millionth of the time is nothing."""
    return round(row.gemm_loss_s_per_gb, 6)
