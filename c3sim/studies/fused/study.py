"""A study of kind ``fused``: time saved by one persistent kernel, by operator, node and size.

    saving = 1 - fused / unfused

The skew of two nodes is the difference of their ends over the time of both. Each waits for the
other's part. Where every GPU makes its results in the order of destinations, the first makes its
own part first and the second what the first waits for; so the second waits longer:

    ends of the two = the fused run with the own part last, and the one with it first
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean
from typing import Any

from c3sim.errors import InputError
from c3sim.input.loading import load_any_model, load_hardware
from c3sim.simulation.runs import run_once
from c3sim.specs.dlrm import Dlrm
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.specs.workload import Workload
from c3sim.studies.fused.step import training_step
from c3sim.studies.fused.workloads import Conditions, Configuration, fused, unfused, with_stores
from c3sim.studies.kind import About, Options, StudyResult
from c3sim.studies.node_settings import node_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One configuration. *skew*: of two nodes, without and with the order; None in a node."""

    operator: str
    node: str
    nodes: int
    gpus: int
    configuration: str
    unfused_s: float
    fused_s: float
    saving: float
    skew: Mapping[str, float] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    mean_saving: float
    max_saving: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """A step on *nodes* nodes; *exchange_share*: of embedding and all-to-all in the unfused one."""

    node: str
    nodes: int
    batch: int
    unfused_s: float
    fused_s: float
    saving: float
    exchange_share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FusedResult(StudyResult):
    """*by_node*: the summary of an operator on each node."""

    rows: Sequence[Row]
    summary: Mapping[str, Summary]
    by_node: Mapping[str, Mapping[str, Summary]]
    training: Training | None
    assumptions: Mapping[str, Any]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> FusedResult:
    """On *options.node* instead of the table's, where that is given; then without the training
    step, unless it has several nodes. Raises InputError.
    """
    how = _conditions(study)
    nodes: dict[str, Node] = {}
    cases = [
        (node, row)
        for name, row in _configurations(study, options.node)
        for node in [nodes.setdefault(name, _node(study, options, name))]
    ]
    rows = []
    for number, (node, case) in enumerate(cases):
        options.report("operators", number, len(cases))
        rows.append(_row(node, case, how))
    options.report("operators", len(cases), len(cases))
    wide = next((node for node in nodes.values() if node.scale_out is not None), None)
    operators = dict.fromkeys(row.operator for row in rows)
    main = next(iter(nodes.values()))
    return FusedResult(
        about=About.of(study, main),
        rows=rows,
        summary={name: _summary(rows, name) for name in operators},
        by_node={
            name: {
                node: _summary([row for row in rows if row.node == node], name)
                for node in dict.fromkeys(row.node for row in rows if row.operator == name)
            }
            for name in operators
        },
        training=_training(study, wide, how) if wide is not None else None,
        assumptions=study.assumptions,
        published=study.published if options.node is None else {},
    )


def _conditions(study: Study) -> Conditions:
    said = study.assumptions
    return Conditions(
        slices=int(said["slices"]),
        occupancy=float(said["occupancy"]),
        staging=bool(said["staging"]),
    )


def _configurations(study: Study, node: Node | None) -> list[tuple[str, Configuration]]:
    """(node, configuration) of every row; on another *node* each configuration once."""
    found = []
    for entry in study.table:
        sizes = product(entry["m"], entry["n"], entry["k"])
        name = node.name if node else entry["node"]
        found += [(name, Configuration(entry["operator"], *map(int, size))) for size in sizes]
    return list(dict.fromkeys(found))


def _node(study: Study, options: Options, name: str) -> Node:
    node = node_of(study, options.node or load_hardware(name).node)
    if node.ranks < 2:
        raise InputError(f"{node.name} has one GPU; a collective needs two")
    return node


def _end(node: Node, workload: Workload) -> float:
    return run_once(node, workload, energy=False).end


def _row(node: Node, case: Configuration, how: Conditions) -> Row:
    storing = with_stores(node)
    before, after = _end(node, unfused(node, case, how)), _end(storing, fused(storing, case, how))
    skew = None
    if node.nodes == 2:
        late = Conditions(
            slices=how.slices, occupancy=how.occupancy, staging=how.staging, late=True
        )
        without = _end(storing, fused(storing, case, late))
        skew = {"without": (without - after) / ((without + after) / 2), "with": 0.0}
    return Row(
        operator=case.operator,
        node=node.name,
        nodes=node.nodes,
        gpus=node.ranks,
        configuration=case.name,
        unfused_s=before,
        fused_s=after,
        saving=1.0 - after / before,
        skew=skew,
    )


def _summary(rows: Sequence[Row], operator: str) -> Summary:
    savings = [row.saving for row in rows if row.operator == operator]
    return Summary(mean_saving=mean(savings), max_saving=max(savings))


def _training(study: Study, node: Node, how: Conditions) -> Training:
    model = load_any_model(str(study.assumptions["model"]))
    assert isinstance(model, Dlrm) and node.scale_out is not None
    batch, nodes = int(study.assumptions["batch"]), int(study.assumptions["nodes"])
    wide = node.model_copy(update={"scale_out": node.scale_out.model_copy(update={"nodes": nodes})})
    storing = with_stores(wide)
    before = run_once(wide, training_step(wide, model, batch, how, fuse=False), energy=False)
    after = _end(storing, training_step(storing, model, batch, how, fuse=True))
    return Training(
        node=node.name,
        nodes=nodes,
        batch=batch,
        unfused_s=before.end,
        fused_s=after,
        saving=1.0 - after / before.end,
        exchange_share=before.task("exchange").end / before.end,
    )
