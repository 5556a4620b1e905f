"""Records without times: what was observed, as data to look at."""

from __future__ import annotations

import json
from collections.abc import Sequence

from c3sim.specs.record import Record

from .kit.markup import cell, table, text

LONGEST = 400  # characters of one observation; the rest is in the record file


def observed_section(records: Sequence[Record]) -> list[str]:
    """A heading and a table; nothing where there are none."""
    if not records:
        return []
    headers = ["suite", "workload", "node", "observed"]
    body = table(headers, [_row(record) for record in records], identity="observed")
    return [f'<h2 id="observations">Observed, not compared</h2>{body}']


def _row(record: Record) -> list[str]:
    said = json.dumps(record.observed)
    short = said if len(said) <= LONGEST else said[:LONGEST] + " ..."
    words = (record.suite, record.workload.name, record.node)
    return [*(cell(text(word)) for word in words), cell(f"<code>{text(short)}</code>", "source")]
