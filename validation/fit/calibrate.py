"""Fits the free parameters of a node: the entries with ``calibrated`` or ``fitted``.

- Parameters of the same suites are fitted together, to the calibration records of those suites.
- Groups follow :data:`ORDER`: memory, GEMMs, collectives, DMA engines, energies. Each group starts
  from the fitted values of those before it.
- Parameters of collective libraries must hold for any number of ranks: they are fitted to the
  records of every node that has them from the same file (``like:``). All others are fitted to the
  node's own records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from c3sim.errors import InputError
from c3sim.evaluation.effort import Agree, Effort
from c3sim.evaluation.shares import Progress
from c3sim.spec.hardware import Node
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.record import Record
from c3sim.spec.sourced import Leaf
from c3sim.spec.words import unknown

from ..compare.effort import FIT_S
from ..compare.record_files import data_hash
from .fit import Fit, Parameter, fit, set_values

#: The beginning of a path -> when it is fitted. Others come last.
ORDER = (
    ("gpu.compute_units", "gpu.l2", "gpu.memory_side_cache", "gpu.hbm"),
    ("gpu.kernels", "gpu.gemm_libraries"),
    ("links", "collective_libraries"),
    ("gpu.dma_engines", "host", "host_profiles"),
    # Power depends on every time; energies fitted to GEMMs come with those.
    ("gpu.clock", "gpu.energy"),
)

#: Steps of a group's searches, about: 7 of 6 parameters and 104 GEMMs, 19 of 8 and 45 all-reduces.
STEPS = 15

#: Numbers that must hold for any number of ranks, fitted to records of all nodes that share them.
EVERY_NODE = "collective_libraries."


@dataclass(frozen=True, slots=True)
class Group:
    """Parameters fitted together, and the suites they are fitted to."""

    suites: tuple[str, ...]
    leaves: dict[str, Leaf]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFit:
    """A fitted group, the *records* it was fitted to, and their *hash*."""

    group: Group
    fit: Fit
    records: tuple[Record, ...]
    hash: str

    @property
    def median_residual(self) -> float:
        """Median absolute relative error over the records fitted to."""
        return float(np.median(np.abs(self.fit.residuals)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Every group in the order of fitting, the node after the last, and what was left out."""

    groups: tuple[GroupFit, ...]
    node: Node
    held_out: int  # validation records, which no fit has seen
    without_data: tuple[Group, ...]


def groups(loaded: LoadedNode, only: str = "") -> list[Group]:
    """The groups of a node file in the order of fitting; *only* those that use that suite. Raises
    InputError.
    """
    by_suites: dict[str, Group] = {}
    for path, leaf in sorted(loaded.provenance.items(), key=lambda pair: _rank(pair[0])):
        if leaf.fitted and leaf.scaled == 1:  # a scaled one is fitted where it is from
            by_suites.setdefault(leaf.fitted, Group(leaf.suites, {})).leaves[path] = leaf
            if leaf.interval is None:
                raise InputError(
                    "it is fitted, so it needs an interval to move in", path, leaf.file, leaf.line
                )
    if only:
        known = sorted({suite for group in by_suites.values() for suite in group.suites})
        if only not in known:
            raise InputError(unknown("suite that a parameter is fitted to", only, known))
        return [group for group in by_suites.values() if only in group.suites]
    return list(by_suites.values())


def records_of(
    group: Group, node: str, free: Sequence[Record], kin: Iterable[str] = ()
) -> list[Record]:
    """Records out of *free* (role ``calibration``) that *group* is fitted to on *node*; *kin*:
    other nodes that share its parameters.
    """
    ran_on = {node, *kin}
    return [each for each in free if each.suite in group.suites and each.node in ran_on]


def _rank(path: str) -> int:
    for rank, roots in enumerate(ORDER):
        if path.startswith(tuple(f"{root}." for root in roots)):
            return rank
    return len(ORDER)


def calibrate(
    name_or_path: str | Path,
    records: Sequence[Record],
    only: str = "",
    progress: Progress = lambda what, done, total: None,
    agree: Agree | None = None,
) -> Calibration:
    """Fit every group that has data. Raises InputError: nothing to fit, or nothing to fit to.

    Of *records* only those with role ``calibration`` that ran on this node, or for collective
    libraries on one that is like it, are used; held-out ones of this node are counted. *agree* is
    told what is ahead, and raises where that is too much.
    """
    loaded = load_hardware(name_or_path)
    node, pending = loaded.node, groups(loaded, only)
    if not pending:
        message = f"no parameter of {node.name!r} says calibrated or fitted; nothing to fit"
        raise InputError(message, file=str(name_or_path))
    ours = [record for record in records if record.node == node.name]
    held_out = sum(record.role != "calibration" for record in ours)
    free = [record for record in records if record.role == "calibration"]
    packaged = ({each.node for each in free} & set(names("node"))) - {node.name}
    others = {name: load_hardware(name) for name in sorted(packaged)}
    if agree is not None:
        agree(_effort(loaded, pending, free, others))
    same = {name: partial(from_same_file, loaded, other) for name, other in others.items()}
    fits: list[GroupFit] = []
    values: dict[str, float] = {}
    for number, group in enumerate(pending):
        progress(" + ".join(group.suites), number, len(pending))
        kin = {}
        for other, each in others.items():
            if shares(group, each):
                found = {path: value for path, value in values.items() if same[other](path)}
                kin[other] = set_values(each.node, found)
        chosen = records_of(group, node.name, free, kin)
        if chosen:
            fits.append(_fit_group(node, group, chosen, kin))
            node = fits[-1].fit.node
            values |= {each.path: each.value for each in fits[-1].fit.parameters}
    if not fits:
        suites = ", ".join(sorted({suite for group in pending for suite in group.suites}))
        wanted = f"needs some of the suites {suites}"
        raise InputError(f"no calibration record of {node.name} in the data; {wanted}")
    missing = tuple(group for group in pending if group not in [each.group for each in fits])
    return Calibration(groups=tuple(fits), node=node, held_out=held_out, without_data=missing)


def _effort(
    loaded: LoadedNode,
    pending: Sequence[Group],
    free: Sequence[Record],
    others: Mapping[str, LoadedNode],
) -> Effort:
    """Time and memory of all fits: STEPS times the slopes of every parameter."""
    predicted = 0
    for group in pending:
        kin = [name for name, each in others.items() if shares(group, each)]
        records = records_of(group, loaded.node.name, free, kin)
        predicted += STEPS * (1 + 2 * len(group.leaves)) * len(records)
    return Effort(predicted * FIT_S, 0.0)


def from_same_file(one: LoadedNode, other: LoadedNode, path: str) -> bool:
    """True if both nodes have the value at *path* from one file."""
    mine, its = one.provenance.get(path), other.provenance.get(path)
    if mine is None or its is None:
        return False
    return mine.file == its.file and mine.scaled == its.scaled


def shares(group: Group, other: LoadedNode) -> bool:
    """True if *other* takes these parameters of a collective library from the same file."""
    return all(
        path.startswith(EVERY_NODE)
        and path in other.provenance
        and other.provenance[path].file == leaf.file
        for path, leaf in group.leaves.items()
    )


def _fit_group(
    node: Node, group: Group, records: list[Record], kin: Mapping[str, Node]
) -> GroupFit:
    parameters = [
        Parameter(path=path, interval=leaf.interval, start=leaf.value)
        for path, leaf in group.leaves.items()
        if leaf.interval is not None  # groups() has checked it
    ]
    result = fit(node, records, parameters, kin)
    return GroupFit(group=group, fit=result, records=tuple(records), hash=data_hash(records))
