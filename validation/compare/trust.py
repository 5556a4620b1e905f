"""Derives how far predictions were from measurements, by conditions: c3sim.evaluation.trust."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import numpy as np

from c3sim.evaluation.trust import METRICS, Cell, Far, Work, distance, work_of
from c3sim.spec.hardware import Node

from .figures import Figure

DIGITS = 4  # of an error
OCTAVES = (0.0, 0.5, 2.0, 4.0, 8.0, 16.0)  # distances from which on errors are counted apart


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


def errors_by_distance(cells: Sequence[Cell]) -> list[Far]:
    """Errors of *cells* by how far the nearest one of another suite on the same GPU is: what is
    known of the error at such a distance.
    """
    apart: list[tuple[float, float]] = []
    for cell in cells:
        others = [each for each in cells if each.gpu == cell.gpu and each.suite != cell.suite]
        if others:
            work: Work = {
                kind: {name: (low, high) for name, (low, high) in ends.items()}
                for kind, ends in cell.work.items()
            }
            near = min(distance(work, cell.node, cell.single, each) for each in others)
            apart.append((near, cell.median))
    found = []
    for least, most in zip(OCTAVES, (*OCTAVES[1:], math.inf), strict=True):
        errors = [error for near, error in apart if least <= near < most]
        if errors:
            median, p90 = (round(float(np.quantile(errors, q)), DIGITS) for q in (0.5, 0.9))
            found.append(Far(least, len(errors), median, p90))
    return found


def text(cells: Sequence[Cell]) -> str:
    """The file: a line per cell, and one per distance."""
    lines = ",\n".join(json.dumps(asdict(cell)) for cell in cells)
    far = ",\n".join(json.dumps(asdict(each)) for each in errors_by_distance(cells))
    return f'{{"schema": 1, "far": [\n{far}\n], "cells": [\n{lines}\n]}}\n'
