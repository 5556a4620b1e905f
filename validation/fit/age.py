"""Calibrations that are older than their records: values that a fit should see again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.record import Record
from c3sim.spec.sourced import Leaf

from ..compare.record_files import data_hash
from .calibrate import Group, groups, records_of, shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """*leaves* of *node* were fitted to other records of *suites* than there are now."""

    node: str
    suites: tuple[str, ...]
    leaves: Mapping[str, Leaf]
    fitted_on: str  # the latest day of their fits
    fitted_to: int
    records: int
    newest: str  # day of the newest record; empty where no record has one

    @property
    def older(self) -> bool:
        """True if a record is younger than the fit, by day."""
        return self.newest > self.fitted_on

    @property
    def words(self) -> str:
        """One sentence."""
        parameters = f"{len(self.leaves)} parameters of {self.node} fitted to"
        then = (
            f"{parameters} {'+'.join(self.suites)} on {self.fitted_on} ({self.fitted_to} records)"
        )
        now = f"there are {self.records} now"
        if self.older:
            return f"{then} are older than their records: {now}, the newest of {self.newest}"
        return f"{then} were fitted to other records: {now}"


def stale(nodes: Iterable[LoadedNode], records: Sequence[Record]) -> list[Stale]:
    """Groups of *nodes* that a fit has determined and that has calibration records here that
    it has not seen: of a later day, more of them, or other ones. Fewer of them say nothing, nor do
    records of a node that takes the values over from another one, whose records the fit has seen.
    """
    free = [record for record in records if record.role == "calibration"]
    every, found = list(nodes), list[Stale]()
    for loaded in every:
        for group in groups(loaded):
            fits = {path: leaf for path, leaf in group.leaves.items() if leaf.calibrated}
            kin = {other.node.name for other in every if shares(group, other)}
            chosen = records_of(group, loaded.node.name, free, kin)
            one = _stale(loaded.node.name, group.suites, fits, chosen)
            if one and not any(_fitted_on(other, group, fits, free) for other in every):
                found.append(one)
    return found


def _fitted_on(
    node: LoadedNode, group: Group, fits: Mapping[str, Leaf], free: Sequence[Record]
) -> bool:
    """True if *fits* stand in a file of *node* and were made from its records, as they are now."""
    if any(node.provenance.get(path) != leaf for path, leaf in fits.items()):
        return False
    seen = data_hash(records_of(group, node.node.name, free))
    return all(leaf.calibrated and leaf.calibrated.data == seen for leaf in fits.values())


def _stale(
    node: str, suites: tuple[str, ...], fits: Mapping[str, Leaf], chosen: Sequence[Record]
) -> Stale | None:
    fitted = [leaf.calibrated for leaf in fits.values() if leaf.calibrated]
    if not fitted or not chosen:
        return None
    latest = max(fitted, key=lambda fit: fit.date)
    days = [record.date[:10] for record in chosen if record.date]
    one = Stale(
        node=node,
        suites=suites,
        leaves=fits,
        fitted_on=latest.date,
        fitted_to=latest.records,
        records=len(chosen),
        newest=max(days, default=""),
    )
    same = all(fit.data == data_hash(chosen) for fit in fitted)
    return one if not same and (one.older or len(chosen) >= latest.records) else None
