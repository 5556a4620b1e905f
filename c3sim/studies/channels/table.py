"""Tables of a study of kind ``channels``: both curves by node and collective, and the knees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, percent
from c3sim.studies.channels.study import ChannelsResult, Knee, Row
from c3sim.studies.show import grouped

if TYPE_CHECKING:
    from rich.console import Group, RenderableType


def tables(study: ChannelsResult) -> list[RenderableType]:
    machines = grouped(study.rows, lambda row: (row.node, row.collective))
    return [
        *(curve_table(f"{name} on {node}", rows) for (node, name), rows in machines.items()),
        knee_table(study.knees),
    ]


def curve_table(title: str, rows: Sequence[Row]) -> Group:
    """A row per number of channels: bandwidth alone; per GEMM its slowdown, bandwidth beside it."""
    gemms = list(dict.fromkeys(row.gemm for row in rows))
    headers = [part for gemm in gemms for part in (f"{gemm}\n(% longer)", "beside\n(GB/s)")]
    table = make_table(["channels"], ["alone\n(GB/s)", *headers])
    for channels, of_count in grouped(rows, lambda row: row.channels).items():
        first, known = of_count[0], {row.gemm: row for row in of_count}
        default = " (default)" if channels == first.default_channels else ""
        cells = [
            cell
            for gemm in gemms
            for cell in (
                percent(known[gemm].gemm_slowdown - 1.0),
                f"{known[gemm].bandwidth_beside_bytes_per_s / 1e9:.0f}",
            )
        ]
        alone = f"{first.bandwidth_alone_bytes_per_s / 1e9:.0f}"
        add_row(table, f"{channels}{default}", alone, *cells)
    return stack(
        title,
        table,
        "a GEMM while the collective runs, the collective while the GEMM runs; bus bandwidth",
    )


def knee_table(knees: Sequence[Knee]) -> Group:
    """A row per curve: its knee beside the library's default."""
    numbers = ["knee\n(channels)", "longer at\nthe knee (%)", "bandwidth\n(GB/s)", "loss\n(ms/GB)"]
    numbers += ["default\n(channels)", "its loss\n(ms/GB)"]
    table = make_table(["node", "collective", "GEMM"], numbers)
    for knee in knees:
        default = knee.default_gemm_loss_s_per_gb
        add_row(
            table,
            knee.node,
            knee.collective,
            knee.gemm,
            str(knee.channels),
            percent(knee.gemm_slowdown - 1.0),
            f"{knee.bandwidth_beside_bytes_per_s / 1e9:.0f}",
            f"{1e3 * knee.gemm_loss_s_per_gb:.2f}",
            str(knee.default_channels),
            MISSING if default is None else f"{1e3 * default:.2f}",
        )
    return stack(
        "the knee: channels with which a byte costs the GEMM least",
        table,
        "loss: GEMM time that 1 GB of the collective costs while it is hidden; one that is not"
        " hidden wants the most bandwidth",
    )
