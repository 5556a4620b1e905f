"""A study of serving as cases: what is served, on which node, from scenarios crossed with axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

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

#: Stands where paths of a node are resolved; a study of serving has no workload.
_NONE = Workload(schema_version=1, name="none", tasks={"none": HostTask(kind="host", time=0.0)})
_ROOTS = ("serving", "gpu", "links", "host", "collective_libraries")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingCase:
    """One point of a study: *serving* of *model* on *node*, which is whole; the values of the axes
    that led to it.
    """

    name: str
    label: str
    serving: Serving
    model: Transformer
    node: Node
    point: Mapping[str, Any] = field(default_factory=dict)


def serving_cases(study: Study, node: Node | None = None) -> list[ServingCase]:
    """Scenarios crossed with axes, the last axis fastest. *node* replaces the study's. Raises
    InputError.
    """
    assert study.serving is not None  # the caller asks only then
    listed = {path: values for path, values in study.axes.items() if not isinstance(values, Range)}
    if len(listed) < len(study.axes) or study.linked or study.constraints or study.costs:
        message = "a study of serving has axes of listed values; ranges, linked, constraints and costs are for workloads"
        raise InputError(message, "axes")
    base = node or load_hardware(study.node).node
    models: dict[str, Transformer] = {}
    nodes: dict[str, Node] = {}  # equal nodes are one object, so that runs on them are remembered
    cases = []
    for scenario in study.scenarios or (Scenario(name=study.name),):
        for values in product(*listed.values()):
            point = dict(zip(listed, values, strict=True))
            try:
                case = _case(study.serving, scenario, base, point, models)
            except InputError as error:
                where = f"study {study.name!r}, scenario {scenario.name!r}"
                raise InputError(
                    f"{error.message} ({where})", error.path, error.file, error.line
                ) from None
            known = (
                base
                if case.node is base
                else nodes.setdefault(case.node.model_dump_json(), case.node)
            )
            name = case.name + "".join(f", {path}={value}" for path, value in point.items())
            cases.append(replace(case, name=name, node=known, point=point))
    return cases


def _case(
    serving: Serving,
    scenario: Scenario,
    node: Node,
    point: Mapping[str, Any],
    models: dict[str, Transformer],
) -> ServingCase:
    for path, value in {**scenario.set, **point}.items():
        root = path.partition(".")[0]
        if root == "serving":
            serving = set_serving(serving, path, value)
        elif root in _ROOTS:
            node, _ = set_value(node, _NONE, path, value)
        else:
            raise InputError(
                f"unknown path {path!r}; paths of serving begin with: {', '.join(_ROOTS)}", path
            )
    if serving.model not in models:
        models[serving.model] = load_model(serving.model)
    model = models[serving.model]
    return ServingCase(
        name=scenario.name, label=scenario.label, serving=serving, model=model, node=node
    )


def set_serving(serving: Serving, path: str, value: object) -> Serving:
    """*serving* with *value* (text as on the command line, or Python data) at *path*. Raises
    InputError.
    """
    name = path.partition(".")[2]
    fields = fields_of(Serving)
    if name not in fields:
        raise InputError(unknown("field of serving", name, fields), path)
    document = Conform(style="text")
    item = from_plain(scalar(value.strip()) if isinstance(value, str) else value)
    plain = document.value(item, fields[name].shape, name)
    made = (
        None
        if plain is BAD or document.errors
        else validate(document, Serving, {**serving.model_dump(), name: plain})
    )
    if made is None:
        raise InputError(document.errors[0].message, path)
    return made
