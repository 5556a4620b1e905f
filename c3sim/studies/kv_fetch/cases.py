"""The cases of a study of serving: scenarios crossed with axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from c3sim.errors import InputError
from c3sim.input.conform import BAD, Conform
from c3sim.input.constraints import validate
from c3sim.input.hints import unknown
from c3sim.input.loading import load_hardware, load_model
from c3sim.input.paths import set_value
from c3sim.input.shapes import fields_of
from c3sim.input.yaml_nodes import from_plain, scalar
from c3sim.specs.hardware import Node
from c3sim.specs.serving import Serving
from c3sim.specs.study import Range, Scenario, Study
from c3sim.specs.transformer import Transformer
from c3sim.specs.workload import HostTask, Workload
from c3sim.studies.cases import case_name, located

#: Stands where paths of a node are resolved; a study of serving has no workload.
_NONE = Workload(schema_version=1, name="none", tasks={"none": HostTask(kind="host", time=0.0)})
_ROOTS = ("serving", "gpu", "links", "host", "collective_libraries")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingCase:
    """One point of a study: *serving* of *model* on *node*, all of whose GPUs are there."""

    name: str
    label: str
    serving: Serving
    model: Transformer
    node: Node


def serving_cases(study: Study, node: Node | None = None) -> list[ServingCase]:
    """Scenarios crossed with axes, the last one fastest; *node*: instead of the study's."""
    assert study.serving is not None  # the caller asks only then
    axes = {path: values for path, values in study.axes.items() if not isinstance(values, Range)}
    if len(axes) < len(study.axes) or study.linked or study.constraints or study.costs:
        raise InputError(
            "a study of serving has axes of listed values; ranges, linked, constraints and costs"
            " are for workloads",
            "axes",
        )
    base = node or load_hardware(study.node).node
    models: dict[str, Transformer] = {}
    cases = []
    for scenario in study.scenarios or (Scenario(name=study.name),):
        for values in product(*axes.values()):
            point = dict(zip(axes, values, strict=True))
            with located(study, scenario):
                cases.append(_case(study.serving, scenario, base, point, models))
    return cases


def _case(
    serving: Serving,
    scenario: Scenario,
    node: Node,
    point: Mapping[str, object],
    models: dict[str, Transformer],
) -> ServingCase:
    """*scenario* at *point*; *models* keeps the models that were loaded."""
    for path, value in {**scenario.set, **point}.items():
        root = path.partition(".")[0]
        if root == "serving":
            serving = set_serving(serving, path, value)
        elif root in _ROOTS:
            node, _ = set_value(node, _NONE, path, value)
        else:
            allowed = ", ".join(_ROOTS)
            raise InputError(f"unknown path {path!r}; paths of serving begin with: {allowed}", path)
    if serving.model not in models:
        models[serving.model] = load_model(serving.model)
    return ServingCase(
        name=case_name(scenario, point),
        label=scenario.label,
        serving=serving,
        model=models[serving.model],
        node=node,
    )


def set_serving(serving: Serving, path: str, value: object) -> Serving:
    """*serving* with *value*, text or Python data, at *path*. Raises InputError."""
    name = path.partition(".")[2]
    fields = fields_of(Serving)
    if name not in fields:
        raise InputError(unknown("field of serving", name, fields), path)
    document = Conform(style="text")
    item = from_plain(scalar(value.strip()) if isinstance(value, str) else value)
    plain = document.value(item, fields[name].shape, name)
    changed = None
    if plain is not BAD and not document.errors:
        changed = validate(document, Serving, {**serving.model_dump(), name: plain})
    if changed is None:
        raise InputError(document.errors[0].message, path)
    return changed
