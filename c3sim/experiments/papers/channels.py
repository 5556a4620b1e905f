"""Kind ``channels``: what does one more channel of a collective cost the GEMM beside it, and what
does it give the collective?

With c channels, each as long as the other is there: t(c) the GEMM's time, t0 alone, and w(c) the
collective's bandwidth. While the collective runs, the GEMM gets t0 / t(c) of its work done, so a
byte that moves beside it costs it

    loss(c) = (1 - t0 / t(c)) / w(c)

seconds of its time. As long as the collective is hidden, that is all it costs: the *knee* is the
number of channels with the least loss, of several the one with the most bandwidth. A collective
that is not hidden wants more. Bandwidths are bus bandwidths of a GPU; a cost or gain per channel is
since the number before, as a fraction of what was there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from c3sim.evaluation.effort import Effort
from c3sim.experiments.cases import Case, collective_of, gemm_of, workload_cases
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects.beside import effort_beside, row_of
from c3sim.kit.grid import Table, tables_by, titled
from c3sim.kit.panels import Panel, panels_by
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import LoadedStudy
from c3sim.spec.study import Range, Study

#: What a knee says of its number of channels.
OF_KNEE = (
    *("node", "gemm", "collective", "channels", "default_channels", "gemm_slowdown"),
    *("bandwidth_beside_bytes_per_s", "gemm_loss_s_per_gb"),
)


def cases(asked: Asked) -> list[Case]:
    nodes = asked.nodes()
    return [case for node in nodes for case in workload_cases(_known_to(node, asked.loaded), node)]


def _known_to(node: Node, loaded: LoadedStudy) -> LoadedStudy:
    """The study with those numbers of channels that the library of *node* uses."""
    most = min(node.collective_library(None).channels.maximum, node.gpu.compute_unit_count)
    axes = {
        path: tuple(count for count in values if not isinstance(count, int) or count <= most)
        if path.endswith(".channels") and not isinstance(values, Range)
        else values
        for path, values in loaded.study.axes.items()
    }
    return replace(loaded, study=loaded.study.changed(axes=axes))


def effort(_: Asked, cases: Sequence[Case]) -> tuple[Effort, int]:
    parts = ((case.node, gemm_of(case)[1], collective_of(case)[1]) for case in cases)
    return Effort.mean(effort_beside(*each) for each in parts), len(cases)


def row(case: Case, _: Study) -> Row:
    return row_of(case)


def reduce(asked: Asked, _: Sequence[Case], rows: list[Row]) -> Mapping[str, Any]:
    curves = grouped(rows, lambda row: (row.node, row.gemm, row.collective)).values()
    return {
        "node": ", ".join(node.name for node in asked.nodes()),
        "rows": [row for curve in curves for row in priced(curve)],
        "knees": [knee(curve) for curve in curves],
        "published": asked.study.published,
    }


def priced(curve: Sequence[Row]) -> list[Row]:
    """*curve* with what each number of channels costs and gives since the one before."""
    nothing: dict[str, Any] = {"gemm_cost_per_channel": None, "bandwidth_gain_per_channel": None}
    rows = [Row(curve[0], **nothing)]
    for before, row in pairwise(curve):
        more = row.channels - before.channels
        gain = row.bandwidth_beside_bytes_per_s / before.bandwidth_beside_bytes_per_s - 1.0
        cost = row.gemm_beside_s / before.gemm_beside_s - 1.0
        rows.append(
            Row(row, gemm_cost_per_channel=cost / more, bandwidth_gain_per_channel=gain / more)
        )
    return rows


def knee(curve: Sequence[Row]) -> Row:
    """The number of channels with which a byte costs the GEMM least, where a millionth of its time
    is nothing, and what the library's default number costs.
    """
    best = min(
        curve, key=lambda row: (round(row.gemm_loss_s_per_gb, 6), -row.bandwidth_beside_bytes_per_s)
    )
    default = [row.gemm_loss_s_per_gb for row in curve if row.channels == row.default_channels]
    loss = default[0] if default else None
    return Row({name: best[name] for name in OF_KNEE}, default_gemm_loss_s_per_gb=loss)


def _lines(found: StudyResult) -> list[dict[str, Any]]:
    """A line per number of channels for every collective and node."""
    points = grouped(found.rows, lambda row: (row.collective, row.node, row.channels))
    return [
        {
            **rows[0],
            "default": channels == rows[0].default_channels,
            "alone": rows[0].bandwidth_alone_bytes_per_s,
            "longer": {row.gemm: row.gemm_slowdown - 1.0 for row in rows},
            "beside": {row.gemm: row.bandwidth_beside_bytes_per_s for row in rows},
        }
        for (_, _, channels), rows in points.items()
    ]


def tables(found: StudyResult) -> list[Table | str]:
    note = "a GEMM longer while the collective runs; bus bandwidth of it alone and beside"
    columns = ["channels as channels", "default", "alone GB/s", "longer.* % as * longer"]
    columns += ["beside.* GB/s as beside *"]
    curves = tables_by("{collective} on {node}", _lines(found), columns, note)
    columns = ["node", "collective", "gemm", "channels", "longer %", "beside GB/s"]
    columns += ["gemm_loss_s_per_gb ms/GB as loss", "default_channels as default channels"]
    columns += ["default_gemm_loss_s_per_gb ms/GB as its loss"]
    knees = [
        {**each, "longer": each.gemm_slowdown - 1.0, "beside": each.bandwidth_beside_bytes_per_s}
        for each in found.knees
    ]
    title = "the knee: channels with which a byte costs the GEMM least"
    note = "loss: GEMM time that 1 GB of the collective costs while it is hidden"
    return [*curves, Table(title, knees, columns, note)]


def panels(found: StudyResult) -> list[Panel]:
    where, drawn = "{collective} on {node}: ", list[Panel]()
    for lines in titled(where, _lines(found)).values():
        drawn += panels_by(where + "GEMM longer by", lines, "channels", "longer.* %")
        drawn += panels_by(where + "bandwidth beside it", lines, "channels", "beside.* GB/s")
    return drawn
