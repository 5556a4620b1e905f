"""A table of the records without times: their observations, which nothing is compared with."""

from __future__ import annotations

import json
from collections.abc import Sequence

from c3sim.specs.record import Record

from .kit.markup import cell, section, table, text

LONGEST = 400  # characters of one observation; the rest is in the record file


def observed_section(records: Sequence[Record]) -> list[str]:
    """A heading and a table; nothing where there are none."""
    if not records:
        return []
    headers = ["suite", "workload", "node", "observed"]
    body = table(headers, [_row(record) for record in records], identity="observed")
    return [section("observations", "Observed, not compared", body)]


def _row(record: Record) -> list[str]:
    data = json.dumps(record.observed)
    short = data if len(data) <= LONGEST else data[:LONGEST] + " ..."
    names = (record.suite, record.workload.name, record.node)
    return [*(cell(text(name)) for name in names), cell(f"<code>{text(short)}</code>", "source")]
