"""Derives how far predictions were from measurements, by conditions: c3sim.evaluation.trust."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import numpy as np

from c3sim.evaluation.trust import METRICS, Cell, Work, work_of
from c3sim.spec.hardware import Node

from .figures import Figure

DIGITS = 4  # of an error


def derive(figures: Iterable[Figure], nodes: dict[str, Node]) -> list[Cell]:
    """A cell for each node, suite and mix of tasks, from the *figures* that no fit uses: of whole
    runs where there are any, else of tasks alone.
    """
    groups: dict[tuple[str, str, tuple[str, ...], str], list[Figure]] = {}
    for figure in figures:
        alone = figure.metric.startswith("isolated_") and len(figure.record.workload.tasks) == 1
        if figure.held_out and (alone or figure.metric in METRICS):
            node = figure.record.node
            kinds = tuple(sorted(work_of(nodes[node], figure.record.workload)))
            groups.setdefault((node, figure.suite, kinds, figure.metric), []).append(figure)
    return [
        _cell(nodes[node], node, suite, metric, group)
        for (node, suite, _, metric), group in sorted(groups.items())
    ]


def _cell(node: Node, name: str, suite: str, metric: str, group: Sequence[Figure]) -> Cell:
    errors = np.abs([figure.error for figure in group])
    return Cell(
        node=name,
        gpu=node.gpu.name,
        suite=suite,
        metric=metric,
        count=len(group),
        median=round(float(np.median(errors)), DIGITS),
        p90=round(float(np.quantile(errors, 0.9)), DIGITS),
        work=_together([work_of(node, figure.record.workload) for figure in group]),
    )


def _together(works: Sequence[Work]) -> Work:
    """The ends over all of *works*, which are of the same kinds."""
    return {
        kind: {
            name: (
                min(work[kind][name][0] for work in works),
                max(work[kind][name][1] for work in works),
            )
            for name in ends
        }
        for kind, ends in sorted(works[0].items())
    }


def text(cells: Iterable[Cell]) -> str:
    """The file: a line per cell."""
    lines = ",\n".join(json.dumps(asdict(cell)) for cell in cells)
    return f'{{"schema": 1, "cells": [\n{lines}\n]}}\n'
