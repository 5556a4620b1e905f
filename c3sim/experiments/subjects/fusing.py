"""The time that an operator and its collective save in one persistent kernel
(c3sim/experiments/subjects/operators.py), told in parts that add up; two nodes' skew; a training
step.

The skew of two nodes is the difference of their ends over the time of both. Each waits for the
other's part. Where every GPU makes its results in the order of destinations, the first makes its
own part first and the second what the first waits for; so the second waits longer:

    ends of the two = the fused run with the own part last, and the one with it first
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pydantic import Field

from c3sim.errors import InputError
from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import draws_within, ends_within
from c3sim.experiments.cases import NONE, assumed, node_of, rows_of
from c3sim.experiments.points import node_with
from c3sim.experiments.study import Asked, Row
from c3sim.experiments.subjects.operators import (
    Conditions,
    Configuration,
    Operator,
    fused,
    training_step,
    unfused,
)
from c3sim.models.network import shared_rate
from c3sim.simulation.runs import run_once
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.models import Dlrm
from c3sim.spec.quantities import Extent, Parts
from c3sim.spec.reading.loading import LoadedNode, load_any_model, load_hardware, load_node
from c3sim.spec.study import Study
from c3sim.spec.workload import Workload


class Entry(Spec):
    """A row of the table: an operator on a node, with every m, n and k."""

    operator: Operator
    node: str
    m: tuple[Extent, ...] = Field(min_length=1)
    n: tuple[Extent, ...] = Field(min_length=1)
    k: tuple[Extent, ...] = Field(min_length=1)


class Said(Spec):
    """Assumptions of the study; *nodes*, *batch*, *model*: of the training step; *ends*: numbers
    that decide so much that both ends of their intervals are in every band.
    """

    occupancy: float = Field(gt=0, le=1)
    slices: int = Field(gt=0, le=4096)
    staging: bool
    nodes: Parts
    batch: Extent
    model: str
    draws: int = Field(0, ge=0, le=1000)
    drawn: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def conditions(self) -> Conditions:
        """The conditions of all operators."""
        return Conditions(slices=self.slices, occupancy=self.occupancy, staging=self.staging)


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A *configuration* on a node; *draws*, *ends*: values [SI] that it is run with as well."""

    name: str
    node: Node
    configuration: Configuration
    draws: tuple[Settings, ...] = ()
    ends: tuple[Settings, ...] = ()


def placed(asked: Asked) -> list[Placed]:
    """Every row of the table; on a node asked for each configuration once. Raises InputError."""
    given, nodes, found = asked.options.node, dict[str, Node](), list[Placed]()
    draws: dict[str, tuple[tuple[Settings, ...], tuple[Settings, ...]]] = {}
    said = assumed(asked.study, Said)  # wrong ones are told before hours of work
    for entry in rows_of(asked.study, Entry):
        name = given.name if given else entry.node
        if name not in nodes:
            nodes[name] = node_of(asked.study, given or load_node(name))
            if nodes[name].ranks < 2:
                raise InputError(f"{name} has one GPU; a collective needs two")
            known = asked.options.provenance if given else load_hardware(name).provenance
            loaded = LoadedNode(node=nodes[name], provenance=known)
            drawn = draws_within(loaded, said.drawn, asked.options, said.draws)
            draws[name] = drawn, ends_within(loaded, said.ends) if drawn else ()
        for size in product(entry.m, entry.n, entry.k):
            one = Configuration(entry.operator, *size)
            within = dict(zip(("draws", "ends"), draws[name], strict=True))
            found.append(Placed(name=one.name, node=nodes[name], configuration=one, **within))
    return list({(each.node.name, each.configuration): each for each in found}.values())


def row_of(case: Placed, study: Study) -> Row:
    """*skew*: of two nodes, without and with the order; None in a node."""
    node, one, how = case.node, case.configuration, assumed(study, Said).conditions
    found = compared(node, one, how)
    drawn = [node_with(node, NONE, draw) for draw in case.draws]
    two = node.nodes == 2
    return Row(
        operator=one.operator,
        node=node.name,
        nodes=node.nodes,
        gpus=node.ranks,
        configuration=one.name,
        **found,
        saving=1.0 - found.fused_s / found.unfused_s,
        drawn=[saved(each, one, how) for each in drawn],
        ends=[saved(node_with(node, NONE, end), one, how) for end in case.ends],
        skew=skew(node, one, how) if two else None,
        skews=[skew(each, one, how) for each in drawn] if two else [],
    )


def end_of(node: Node, workload: Workload) -> float:
    return run_once(node, workload, energy=False).end


def compared(node: Node, one: Configuration, how: Conditions) -> Row:
    """Times [s] unfused and fused, what each is made of (they add up), and of two nodes or of a
    node's GPUs how far apart they end, over the time of both.

    unfused   compute; staging; transfer, over links or NICs alone; library: what its collective
              takes beside; launch, until the first kernel runs; synchronisation: between
              kernels, of which each waits for the one before
    fused     the longer one of compute and transfer; occupancy and flags, by removal; exposed, the
              rest
    """
    workload = unfused(node, one, how)
    run = run_once(node, workload, energy=False)
    spans = {name: run.task(name).end - run.task(name).start for name in workload.tasks}
    transfer = transfer_time(node, one)
    before = {
        "compute": spans["compute"],
        "staging": spans.get("stage", 0.0),
        "transfer": transfer,
        "library": spans["exchange"] - transfer,
        "launch": run.task("compute").start,
        "synchronisation": run.end - run.task("compute").start - sum(spans.values()),
    }

    def end(**changed: Any) -> float:
        return end_of(node, fused(node, one, replace(how, **changed)))

    whole = end()
    after = {
        "longer": max(spans["compute"], transfer),
        "occupancy": whole - end(occupancy=1.0),
        "flags": whole - end(flags=False) if node.nodes == 1 else 0.0,
    }
    after["exposed"] = whole - sum(after.values())
    return Row(unfused_s=run.end, fused_s=whole, unfused=Row(before), fused=Row(after))


def gains(parts: Mapping[str, float]) -> dict[str, float]:
    """Gains of fusing, negative where it loses, as *parts* are: shares of the unfused time, those
    of the fused operator with ``fused_`` before their names.
    """
    gone = {name: parts[name] for name in ("staging", "library", "launch", "synchronisation")}
    added = {name: -parts[f"fused_{name}"] for name in ("occupancy", "flags", "exposed")}
    overlap = parts["compute"] + parts["transfer"] - parts["fused_longer"]
    return {"overlap": overlap, **gone, **added}


def saved(node: Node, one: Configuration, how: Conditions) -> float:
    """Share of the unfused time that fusing saves."""
    return 1.0 - end_of(node, fused(node, one, how)) / end_of(node, unfused(node, one, how))


def transfer_time(node: Node, one: Configuration) -> float:
    """Seconds in which links, or NICs, carry the collective at their rate; an all-reduce in two
    phases.
    """
    if node.nodes > 1:
        return one.bytes * (1.0 - 1.0 / node.ranks) / shared_rate(node)
    each = one.bytes / node.ranks / (node.links.bandwidth * node.links.per_peer)
    if node.links.topology != "full_mesh":
        each *= node.ranks - 1
    return 2.0 * each if one.collective == "all_reduce" else each


def skew(node: Node, one: Configuration, how: Conditions) -> Row:
    """The time between the ends of two nodes, over the mean of both: tasks in the order of
    destinations on both (*without*), and with what leaves first (*with*), where a GPU is slower
    than the other by as much as GPUs of a node differ.
    """
    early, late = (
        end_of(node, fused(node, one, replace(how, late=each))) for each in (False, True)
    )
    gpu = node.gpu
    apart = gpu.variation.speed if gpu.variation is not None else 0.0
    slower = node.changed(gpu__clock__maximum=gpu.clock.maximum * (1.0 - apart))
    behind = end_of(slower, fused(slower, one, how))

    def over(one: float, other: float) -> float:
        return abs(one - other) / ((one + other) / 2)

    return Row({"without": over(late, early), "with": over(behind, early)})


def training(said: Said, node: Node) -> Row:
    """A training step on the nodes that *said* names; *exchange_share*: of embedding and all-to-all
    in the unfused step.
    """
    model, how, batch = load_any_model(said.model), said.conditions, said.batch
    if not isinstance(model, Dlrm):
        raise InputError(f"{model.name} is no recommendation model", "assumptions.model")
    assert node.scale_out is not None
    wide = node.changed(scale_out__nodes=said.nodes)
    before = run_once(wide, training_step(wide, model, batch, how, fuse=False), energy=False)
    after = end_of(wide, training_step(wide, model, batch, how, fuse=True))
    return Row(
        node=node.name,
        nodes=said.nodes,
        batch=batch,
        unfused_s=before.end,
        fused_s=after,
        saving=1.0 - after / before.end,
        exchange_share=before.task("exchange").end / before.end,
    )
