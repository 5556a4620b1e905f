"""``c3sim show``: what is behind a name, every value with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from c3sim.cli import complete
from c3sim.cli.emit import emit_json
from c3sim.cli.kinds import kind_of
from c3sim.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from c3sim.cli.spec_values import Row
    from c3sim.specs.study import Values


def show(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="A node, workload, iteration, study, model or strategy, or a YAML file.",
            autocompletion=complete.shown,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show what is behind NAME: every value with its unit, source and interval, defaults filled in.

    The paths in the first column are those that --set takes.

    \b
    Examples:
      c3sim show mi300x-8
      c3sim show gemm-beside-all-gather
      c3sim show conccl --json
    """
    kind = kind_of(name)
    data, parts = _PARTS[kind](name)
    if as_json:
        emit_json({"kind": kind, **data})
        return
    from c3sim.output.kit.layout import show as print_out
    from c3sim.output.kit.layout import stack

    print_out(stack(f"{kind} {data['name']}", *(part for part in parts if part)))


UNSEEN = (
    "{} numbers are unseen by measurements: no suite notices when they are scaled by 0.7 or 1.4"
    " (docs/validation.md)"
)


def _node(name: str) -> tuple[dict[str, Any], list[Any]]:
    from c3sim.cli.spec_values import node_rows
    from c3sim.input.loading import load_hardware
    from c3sim.validation.compare.coverage_file import unseen_of

    loaded = load_hardware(name)
    unseen = unseen_of(loaded)
    node, rows = loaded.node, node_rows(loaded, unseen)
    data: dict[str, Any] = {"name": node.name, "description": node.description}
    return data | {"values": [row.to_dict() for row in rows]}, [
        node.description,
        _table(rows, sourced=True),
        UNSEEN.format(len(unseen)) if unseen else "",
    ]


def _workload(name: str) -> tuple[dict[str, Any], list[Any]]:
    from c3sim.cli.spec_values import workload_rows
    from c3sim.input.loading import load_hardware, open_workload

    loaded = open_workload(name)
    plain = loaded.workload
    rows = workload_rows(loaded, load_hardware(plain.node).node)
    head = {key: getattr(plain, key) for key in ("name", "description", "source", "node")}
    about = f"file: {loaded.file}" + (f"\nsource: {plain.source}" if plain.source else "")
    parts = [plain.description, about, _table(rows, sourced=False)]
    return {**head, "file": loaded.file, "values": [row.to_dict() for row in rows]}, parts


def _study(name: str) -> tuple[dict[str, Any], list[Any]]:
    from c3sim.input.loading import load_study
    from c3sim.output.kit.layout import add_row, make_table
    from c3sim.specs.study import WITH_POINTS

    study = load_study(name)
    # "kind" is what the file is: a study
    dumped = study.model_dump(mode="json", by_alias=True, exclude={"kind"})
    data = {"study_kind": study.kind, **dumped}
    table = make_table(["scenario", "label", "set"], [])
    for scenario in study.scenarios:
        changes = ", ".join(f"{path}={value}" for path, value in scenario.set.items())
        add_row(table, scenario.name, scenario.label, changes)
    linked = [line for entry in study.linked for line in _axis("linked", entry)]
    axes = "\n".join(_axis("axis", study.axes) + linked)
    limits = "\n".join(f"constraint {text}" for text in study.constraints)
    costs = "\n".join(f"cost {name} = {text}" for name, text in study.costs.items())
    what = f"workload {study.workload or 'of each scenario'}"
    about = f"node {study.node}, {f'serving {study.serving.model}' if study.serving else what}"
    ways = f"kind {study.kind}, strategies {', '.join(study.strategies)}"
    if study.kind in WITH_POINTS:
        ways += f"\noutputs {', '.join(study.outputs)}"
    source = f"source: {study.source}" if study.source else ""
    scenarios = table if study.scenarios else ""
    return data, [study.description, source, about, ways, axes, limits, costs, scenarios]


def _axis(word: str, axes: Mapping[str, Values]) -> list[str]:
    """A line per axis."""

    def values(given: Values) -> str:
        if isinstance(given, tuple):
            return ", ".join(map(str, given))
        text = f"{given.start} to {given.to} "
        if given.steps:
            text += f"in {given.steps} steps"
        elif given.factor:
            text += f"by a factor of {given.factor:g}"
        return f"{text}{', logarithmic' if given.log else ''}".rstrip()

    return [f"{word} {path}: {values(given)}" for path, given in axes.items()]


def _model(name: str) -> tuple[dict[str, Any], list[Any]]:
    from c3sim.input.loading import load_any_model
    from c3sim.output.kit.text import size
    from c3sim.specs.transformer import Transformer

    model = load_any_model(name)
    data = model.model_dump(mode="json", by_alias=True) | {"parameters": model.parameters}
    derived = f"{model.parameters:,} parameters"
    if isinstance(model, Transformer):
        of_cache = f"KV {size(model.kv_bytes)} per token and layer"
        derived += f"; weights {size(model.weight_bytes)}; {of_cache}"
        data |= {"weight_bytes": model.weight_bytes, "kv_bytes": model.kv_bytes}
    return data, [model.description, f"source: {model.source}", _fields(model), derived]


def _iteration(name: str) -> tuple[dict[str, Any], list[Any]]:
    from c3sim.input.loading import open_iteration

    loaded = open_iteration(name)
    iteration = loaded.iteration
    data = iteration.model_dump(mode="json", by_alias=True, exclude={"kind"})
    about = f"file: {loaded.file}" + (f"\nsource: {iteration.source}" if iteration.source else "")
    model = f"model {loaded.model.name}: {loaded.model.parameters:,} parameters"
    return data, [iteration.description, about, _fields(iteration), model]


def _fields(spec: BaseModel) -> Any:
    """A table of what a file says, and of what it leaves out."""
    from c3sim.input.shapes import fields_of
    from c3sim.output.kit.layout import add_row, make_table

    table = make_table(["field", "value", "what it is"], [])
    data = spec.model_dump(mode="json", by_alias=True)
    for field, shape in fields_of(type(spec)).items():
        if field not in ("schema", "kind", "name", "description", "source"):
            add_row(table, field, _plain(data[field]), shape.description)
    return table


def _plain(value: Any) -> str:
    """*value* as YAML has it on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items()) + "}"
    return "-" if value is None else str(value)


def _strategy(name: str) -> tuple[dict[str, Any], list[Any]]:
    from c3sim.strategies.table import STRATEGIES

    found = STRATEGIES[name]
    return {"name": name, "description": found.help, "takes_a_number": found.numbered}, [found.help]


def _table(rows: list[Row], *, sourced: bool) -> Any:
    from c3sim.output.kit.layout import add_row, make_table

    table = make_table(["path", "value", *(("interval", "source") if sourced else ("from",))], [])
    for row in rows:
        words = (row.interval_text, row.words) if sourced else (row.source,)
        add_row(table, row.path, row.text, *words)
    return table


_PARTS = {
    "node": _node,
    "workload": _workload,
    "iteration": _iteration,
    "study": _study,
    "model": _model,
    "strategy": _strategy,
}
