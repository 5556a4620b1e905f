"""Table of the effect of tasks on the lines of the last cache that all compute units share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table
from c3sim.output.kit.text import figures, percent
from c3sim.result import Result

if TYPE_CHECKING:
    from rich.table import Table

MB = 1e6
EXPLAINED = (
    "of one GPU; misses wait where every line of their set is pending; row hits: of the bytes"
    " written, 100 % is what\nmemory's efficiencies were measured with"
)


def cache_parts(result: Result) -> tuple[Table | str, ...]:
    """A row per task; nothing where nobody names a policy."""
    counted = {name: t.detail["cache"] for name, t in result.tasks.items() if "cache" in t.detail}
    if not counted:
        return ()
    numbers = ["takes lines\n(MB)", "written\n(MB)", "row hits\n(%)", "misses wait\n(%)"]
    table = make_table(["task", "written lines leave"], [*numbers, "written back\nat its end (MB)"])
    for name, counts in counted.items():
        add_row(
            table,
            name,
            counts["write_backs"],
            figures(counts["inserted_bytes"] / MB),
            figures(counts["written_bytes"] / MB),
            percent(counts["row_hits"]),
            percent(counts["stalls"]),
            figures(counts["released_bytes"] / MB),
        )
    return "", table, EXPLAINED
