"""Predicts many records: on every core when there is enough to do, with a call-back after each
batch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from c3sim.errors import InputError
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record

from .baselines import NOTHING, plain_predictions
from .figures import Case, compare_one

BATCH = 25  # records handed to a process at once
WORTH_IT = 4.0  # seconds of work below which starting processes costs more than it saves

Progress = Callable[[int], None]  # how many more records are done


def predict(
    nodes: Mapping[str, Node],
    records: Sequence[Record],
    jobs: int = 0,
    progress: Progress = lambda count: None,
) -> list[list[Case]]:
    """The cases of each record, in order, plain predictors included. *nodes*: by the name the
    records use.

    *jobs* processes, 0 for as many as there are cores. The first batch is timed; what is left goes
    to other processes only if that is quicker. The result does not depend on it.
    """
    found: list[list[Case]] = []
    for batch in _batches(nodes, records, jobs or os.cpu_count() or 1):
        found += batch
        progress(len(batch))
    plain = plain_predictions(records)
    return [
        [replace(case, plain=known.get((case.metric, case.task), NOTHING)) for case in cases]
        for cases, known in zip(found, plain, strict=True)
    ]


def _batches(
    nodes: Mapping[str, Node], records: Sequence[Record], jobs: int
) -> Iterator[list[list[Case]]]:
    parts = [records[start : start + BATCH] for start in range(0, len(records), BATCH)]
    began = time.perf_counter()
    for number, part in enumerate(parts):
        spent = time.perf_counter() - began
        left = spent / number * (len(parts) - number) if number else 0.0
        if jobs > 1 and left > WORTH_IT:
            yield from _elsewhere(nodes, parts[number:], jobs)
            return
        yield _batch(nodes, part)


def _elsewhere(
    nodes: Mapping[str, Node], parts: Sequence[Sequence[Record]], jobs: int
) -> Iterator[list[list[Case]]]:
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=jobs, return_as="generator")
    yield from run(delayed(_batch)(nodes, part) for part in parts)


def _batch(nodes: Mapping[str, Node], records: Sequence[Record]) -> list[list[Case]]:
    return [compare_one(_node(nodes, record), record) for record in records]


def _node(nodes: Mapping[str, Node], record: Record) -> Node:
    if record.node not in nodes:
        raise InputError(
            f"record {record.id} of suite {record.suite!r} ran on {record.node!r}, of which there is no model"
        )
    return nodes[record.node]
