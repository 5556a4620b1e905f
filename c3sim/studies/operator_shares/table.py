"""Tables of a study of kind ``operator_shares``: shares by configuration, published claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures, percent, times
from c3sim.studies.operator_shares.claims import Claim
from c3sim.studies.operator_shares.row import Row
from c3sim.studies.operator_shares.study import SharesResult
from c3sim.studies.show import grouped, remarks

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

SHORT = {"normalisation": "norm", "elementwise": "element-\nwise", "communication": "comm"}


def tables(study: SharesResult) -> list[RenderableType]:
    from rich.text import Text

    parts: list[RenderableType] = [
        share_table(f"{study.about.name} on {node}", rows)
        for node, rows in grouped(study.rows, lambda row: row.node).items()
    ]
    if study.claims:
        parts.append(claim_table(study.claims))
    return [*parts, Text("\n".join(remarks(study.published)) or MISSING)]


def share_table(title: str, rows: Sequence[Row]) -> Group:
    """A row per configuration: time of the iteration, shares of the classes."""
    names = list(rows[0].shares)
    headers = ["iteration\n(ms)", "kernels\n(ms)", *(SHORT.get(name, name) for name in names)]
    table = make_table(["configuration"], [*headers, "GEMMs of\nattention"])
    for row in rows:
        marks = (" host" if row.host_bound else "") + ("" if row.fits else " too large")
        add_row(
            table,
            row.configuration + (f" ({marks.strip()})" if marks else ""),
            figures(1e3 * row.iteration_s),
            figures(1e3 * row.kernels_s),
            *(percent(row.shares[name]) for name in names),
            percent(row.attention_gemm_share),
        )
    return stack(
        f"{title}: shares of the time in which kernels run (%)",
        table,
        "comm: communication that nothing else runs beside; host: bound by launches; too large:"
        " needs more memory than a GPU has",
    )


def claim_table(claims: Sequence[Claim]) -> Group:
    """A row per published figure: its standing, and the same on each node."""
    nodes = list(dict.fromkeys(node for claim in claims for node in claim.simulated))
    table = make_table(["figure", "configuration", "standing"], ["published", *nodes])
    for claim in claims:
        ends = [_figure(claim, end) for end in (claim.low, claim.high) if end is not None]
        beside = f"{claim.configuration}" + (f" / {claim.beside}" if claim.beside else "")
        here = (
            _figure(claim, claim.simulated[node]) if node in claim.simulated else MISSING
            for node in nodes
        )
        published = " to ".join(dict.fromkeys(ends)) or (
            "grows" if claim.of == "change" else MISSING
        )
        add_row(table, claim.text, beside, claim.standing, published, *here)
    return stack("published figures beside those here", table, "shares and changes in %")


def _figure(claim: Claim, value: float) -> str:
    if claim.of == "speedup":
        return times(value)
    return ("+" if claim.of == "change" and value > 0 else "") + percent(value)
