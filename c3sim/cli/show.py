"""``c3sim show``: what is behind a name, every value with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from c3sim.cli import complete
from c3sim.cli.emit import emit_json
from c3sim.cli.options import Json, Settings, settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from c3sim.cli.card import Card
    from c3sim.cli.spec_values import Row
    from c3sim.spec.models import Transformer
    from c3sim.spec.reading.hardware import LoadedNode
    from c3sim.spec.reading.settings import Settings as SetValues
    from c3sim.spec.study import Values


def show(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="A node, GPU, workload, iteration, study, model or strategy, or the path of a YAML"
            " file.",
            autocompletion=complete.shown,
        ),
    ],
    set_: Settings = None,
    resolved: Annotated[
        bool,
        Option(
            "--resolved",
            help="Print as YAML a node file that has every value itself, or a workload whose"
            " schedule is written out as tasks.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what is behind NAME: every value with its unit, source and interval, defaults filled in.

    The paths in the first column are those that --set takes. Of a node or GPU that is like another
    one, it says which values are taken over from where, which of them were scaled to numbers that
    differ, and which depend on such a number and were not. Of a node it begins with totals per GPU:
    matrix rates, memory, links in one direction, bytes in flight, and what binds copies alone.

    \b
    Examples:
      c3sim show mi300x-8
      c3sim show mi300x-8 --set links.latency='1 us' --resolved > my-node.yaml
      c3sim show gemm-beside-all-gather
      c3sim show conccl --json
    """
    from c3sim.errors import InputError
    from c3sim.evaluation.strategies.table import STRATEGIES
    from c3sim.spec.reading.kinds import kind_of
    from c3sim.spec.words import with_article

    kind, changes = kind_of(name, STRATEGIES), settings(set_)
    in_pieces = kind == "workload" and not changes and resolved and _in_pieces(name)
    if (changes or resolved) and kind != "node" and not in_pieces:
        message = f"{name!r} is {with_article(kind)}; --set and --resolved are for nodes"
        raise InputError(f"{message}, --resolved for workloads with a schedule as well")
    if resolved and as_json:
        raise InputError("--resolved prints YAML; leave --json out")
    if resolved:
        text = _written_out(name) if in_pieces else _resolved(name, changes)
        typer.echo(text, nl=False)
        return
    data, parts = _node(name, changes) if kind == "node" else _PARTS[kind](name)
    if as_json:
        emit_json({"kind": kind, **data})
        return
    from c3sim.kit.layout import show as print_out
    from c3sim.kit.layout import stack

    print_out(stack(f"{kind} {data['name']}", *(part for part in parts if part)))


UNSEEN = (
    "{} numbers are unseen by measurements: no suite notices when they are scaled by 0.7 or 1.4."
    " {} of them have an interval, which --uncertainty draws (docs/validation.md)"
)


def _with_settings(name: str, changes: SetValues) -> LoadedNode:
    from c3sim.cli.spec_values import ANY_WORKLOAD
    from c3sim.spec.reading.hardware import load_hardware
    from c3sim.spec.reading.settings import node_with_settings

    return node_with_settings(load_hardware(name), changes, ANY_WORKLOAD, "set by hand")


def _resolved(name: str, changes: SetValues) -> str:
    from c3sim.spec.reading.hardware import refuse_contradictions
    from c3sim.spec.reading.write import node_text

    by_hand = [f"{path}={value}" for path, value in changes.items()]
    head = "  ".join([f"{name}, every value of it, by: c3sim show --resolved", *by_hand])
    loaded = _with_settings(name, changes)
    files = [leaf.file for leaf in loaded.provenance.values()]
    refuse_contradictions(loaded.node, loaded.provenance, files)
    return node_text(loaded, head)


def _in_pieces(name: str) -> bool:
    from c3sim.spec.reading.loading import load_workload

    return load_workload(name).schedule is not None


def _written_out(name: str) -> str:
    from c3sim.spec.reading.loading import load_node, load_workload
    from c3sim.spec.reading.write import workload_text
    from c3sim.spec.schedules import expanded

    workload = load_workload(name)
    tasks = expanded(workload, load_node(workload.node))
    return workload_text(tasks, f"{name}, its schedule as tasks, by: c3sim show --resolved")


def _node(name: str, changes: SetValues) -> Card:
    from c3sim.cli.card import card_of
    from c3sim.cli.spec_values import node_rows
    from c3sim.validation.compare.coverage_file import drawn_of, unseen_of

    loaded = _with_settings(name, changes)
    unseen = unseen_of(loaded)
    node, rows = loaded.node, node_rows(loaded, unseen)
    data: dict[str, Any] = {"name": node.name, "description": node.description}
    card, parts = card_of(loaded, name, changes)
    return data | card | {"values": [row.to_dict() for row in rows]}, [
        node.description,
        *parts,
        _table(rows, sourced=True),
        UNSEEN.format(len(unseen), len(unseen & drawn_of(loaded))) if unseen else "",
    ]


def _gpu(name: str) -> Card:
    from c3sim.cli.spec_values import node_rows
    from c3sim.spec.reading.hardware import load_gpu

    loaded = load_gpu(name)
    rows = [row for row in node_rows(loaded) if row.path.startswith("gpu.")]
    data = {"name": loaded.node.gpu.name, "values": [row.to_dict() for row in rows]}
    data["inherited"] = [each.to_dict() for each in loaded.inherited]
    return data, [_table(rows, sourced=True), *map(str, loaded.inherited)]


def _workload(name: str) -> Card:
    from c3sim.cli.spec_values import workload_rows
    from c3sim.spec.reading.loading import load_node, open_workload

    loaded = open_workload(name)
    plain = loaded.workload
    rows = workload_rows(loaded, load_node(plain.node))
    head = {key: getattr(plain, key) for key in ("name", "description", "source", "node")}
    about = f"file: {loaded.file}" + (f"\nsource: {plain.source}" if plain.source else "")
    parts = [plain.description, about, _table(rows, sourced=False)]
    return {**head, "file": loaded.file, "values": [row.to_dict() for row in rows]}, parts


def _study(name: str) -> Card:
    from c3sim.kit.layout import add_row, make_table
    from c3sim.spec.reading.loading import load_study
    from c3sim.spec.study import WITH_POINTS

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
    if study.serving is not None:
        what = f"serving {study.serving.model}"
    elif study.iterations:
        what = f"iterations {', '.join(study.iterations)}"
    elif study.pieces is not None:
        what = f"{len(study.pieces.gemms)} GEMMs in pieces on {', '.join(study.pieces.nodes)}"
    on = f"nodes {', '.join(study.nodes)}" if study.nodes else f"node {study.node}"
    about = f"{on}, {what}"
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


def _model(name: str) -> Card:
    from c3sim.kit.text import size
    from c3sim.spec.models import Transformer
    from c3sim.spec.reading.loading import load_any_model

    model = load_any_model(name)
    data = model.model_dump(mode="json", by_alias=True) | {"parameters": model.parameters}
    derived = f"{model.parameters:,} parameters"
    if isinstance(model, Transformer):
        of_cache = f"KV {size(model.kv_bytes)} per token and layer"
        active = model.active_parameters
        derived += f", {active:,} of them of one token" if active < model.parameters else ""
        derived += f"; weights {size(model.weight_bytes)}; {of_cache}"
        data |= {"weight_bytes": model.weight_bytes, "kv_bytes": model.kv_bytes}
        data |= {"active_parameters": active}
        derived += f"\n{_flops(model)}"
    return data, [model.description, f"source: {model.source}", _fields(model), derived]


def _flops(model: Transformer, tokens: int = 4096) -> str:
    from c3sim.iterations.units import token_flops

    products, attention = (3e-9 * flops for flops in token_flops(model, tokens))
    every = f"{products + attention:.4g} GFLOP a token in training"
    return f"{every}, {attention:.3g} of them attention in sequences of {tokens}"


def _iteration(name: str) -> Card:
    from c3sim.spec.reading.loading import open_iteration

    loaded = open_iteration(name)
    iteration = loaded.iteration
    data = iteration.model_dump(mode="json", by_alias=True, exclude={"kind"})
    about = f"file: {loaded.file}" + (f"\nsource: {iteration.source}" if iteration.source else "")
    model = f"model {loaded.model.name}: {loaded.model.parameters:,} parameters"
    return data, [iteration.description, about, _fields(iteration), model]


def _fields(spec: BaseModel) -> Any:
    """A table of what a file says, and of what it leaves out."""
    from c3sim.kit.layout import add_row, make_table
    from c3sim.spec.fields import description_of, fields_of

    table = make_table(["field", "value", "what it is"], [])
    data = spec.model_dump(mode="json", by_alias=True)
    for name in fields_of(type(spec)):
        if name not in ("schema", "kind", "name", "description", "source"):
            add_row(table, name, _plain(data[name]), description_of(type(spec), name))
    return table


def _plain(value: Any) -> str:
    """*value* as YAML has it on one line."""
    if isinstance(value, dict):
        said = (f"{key}: {_plain(inner)}" for key, inner in value.items() if inner is not None)
        return "{" + ", ".join(said) + "}"
    return "-" if value is None else str(value)


def _strategy(name: str) -> Card:
    from c3sim.evaluation.strategies.table import STRATEGIES

    found = STRATEGIES[name]
    return {"name": name, "description": found.help, "takes_a_number": found.numbered}, [found.help]


def _table(rows: list[Row], *, sourced: bool) -> Any:
    from c3sim.kit.layout import add_row, make_table

    liked = any(row.like for row in rows)  # a column only where a value is taken over
    heads = ("interval", *(("like",) if liked else ()), "source") if sourced else ("from",)
    table = make_table(["path", "value", *heads], [])
    for row in rows:
        origin = (row.like,) if liked else ()
        words = (row.interval_text, *origin, row.words) if sourced else (row.source,)
        add_row(table, row.path, row.text, *words)
    return table


_PARTS = {
    "gpu": _gpu,
    "workload": _workload,
    "iteration": _iteration,
    "study": _study,
    "model": _model,
    "strategy": _strategy,
}
