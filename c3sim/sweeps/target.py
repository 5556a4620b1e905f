"""What a sensitivity study varies: a study, or a workload as a study of one scenario."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from c3sim.errors import InputError
from c3sim.input.loading import LoadedNode, LoadedStudy, load_hardware
from c3sim.input.settings import settings_of
from c3sim.iterations.described import subject
from c3sim.specs.study import Scenario, Study
from c3sim.sweeps.outputs import output_names
from c3sim.sweeps.setup import Setup, make_setup

OUTPUTS = ("wall_s", "speedup", "fraction_of_ideal")


@dataclass(frozen=True, kw_only=True)
class Target:
    """The study *name*, run on *node*; *setup* holds what all runs share."""

    name: str
    strategy: str
    node: LoadedNode
    setup: Setup


def workload_study(name_or_path: str, strategy: str | None) -> LoadedStudy:
    """A workload as a study of one scenario; without *strategy* it runs as written."""
    workload = subject(name_or_path)
    return LoadedStudy(
        study=Study(
            schema_version=1,
            name=re.sub(r"[^A-Za-z0-9]+", "-", workload.name)[:100].strip("-") or "workload",
            node=workload.node,
            strategies=(strategy or "as_written",),
            scenarios=(Scenario(name=workload.name, workload=name_or_path),),
        )
    )


def make_target(
    loaded: LoadedStudy,
    node_name: str | None,
    strategy: str | None,
    changes: Mapping[str, object],
    output: str,
) -> Target:
    """What runs of *loaded* share; *node_name*, *strategy* and *changes* replace its own values.

    Raises InputError(s): a wrong study, change or *output*.
    """
    study = loaded.study
    node = load_hardware(node_name or study.node)
    scenarios = study.scenarios or (Scenario(name=study.name),)
    if changes:
        name = scenarios[0].workload or study.workload
        assert name is not None  # the schema asks for one of them
        workload = subject(name, node.node)
        settings_of(changes).apply(node.node, workload)  # so that an error names --set's path
        scenarios = tuple(
            scenario.model_copy(update={"set": {**scenario.set, **changes}})
            for scenario in scenarios
        )
    plain = study.model_copy(update={"scenarios": scenarios, "outputs": OUTPUTS, "kind": "sweep"})
    setup = make_setup(replace(loaded, study=plain), node.node)
    try:
        outputs = output_names(
            (*OUTPUTS, "tasks.*.slowdown", output), study.costs, list(setup.workloads.values())
        )
    except InputError as error:
        raise InputError(error.message, "--output") from None
    if "*" in output:
        raise InputError(f"{output!r} is several; name one task", "--output")
    return Target(
        name=study.name,
        strategy=strategy or study.strategies[0],
        node=node,
        setup=replace(setup, outputs=outputs),
    )
