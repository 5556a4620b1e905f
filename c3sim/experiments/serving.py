"""The cases of a study of serving, scenarios crossed with axes; the figures of one; and what one
takes of this computer, before any request is served.

A step of the scheduler takes STEP_S, and TOKEN_S for each request in it; SIMULATED_S is what the
simulations of a layer and of fetches take for a case. Measured on the packaged study and one core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.effort import Effort
from c3sim.experiments.cases import NONE, case_name, listed, located
from c3sim.experiments.study import Row
from c3sim.iterations.inference.kv import METHODS, Fetch, block_bytes, copies_of, node_of
from c3sim.iterations.inference.scheduler import measures, serve
from c3sim.iterations.inference.steps import Steps
from c3sim.spec.fields import fields_of
from c3sim.spec.hardware import Node
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.reading.loading import load_any_model, load_node
from c3sim.spec.reading.paths import set_field, set_value
from c3sim.spec.study import Scenario, Serving, Study
from c3sim.spec.task import Dtype
from c3sim.spec.words import unknown

STEP_S, TOKEN_S, SIMULATED_S = 20e-6, 0.25e-6, 0.1
REQUEST_BYTES = 500.0
STEP = 0.01  # s that a step of a server takes, about: how many requests arrive meanwhile
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
    """Scenarios crossed with axes, the last one fastest, each case once, though what was set may
    have made several the same; *node*: instead of the study's.
    """
    assert study.serving is not None  # the caller asks only then
    base = node or load_node(study.node)
    models: dict[str, Transformer] = {}
    cases: list[ServingCase] = []
    for scenario, point in listed(study, "serving"):
        with located(study, scenario):
            case = _case(study.serving, scenario, base, point, models)
        if not any((case.serving, case.node) == (each.serving, each.node) for each in cases):
            cases.append(case)
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
            node, _ = set_value(node, NONE, path, value)
        else:
            allowed = ", ".join(_ROOTS)
            raise InputError(f"unknown path {path!r}; paths of serving begin with: {allowed}", path)
    if serving.model not in models:
        models[serving.model] = _served(load_any_model(serving.model))
    model = models[serving.model]
    return ServingCase(
        name=case_name(scenario, point),
        label=scenario.label,
        serving=serving,
        model=model.changed(dtype=served_type(model, serving)),
        node=node,
    )


def _served(model: Transformer | Dlrm) -> Transformer:
    """*model*. Raises InputError if it generates no tokens."""
    if isinstance(model, Dlrm) or not model.causal:
        message = f"{model.name} generates no tokens; a model that does is served"
        raise InputError(message, "serving.model")
    return model


def served_type(model: Transformer, serving: Serving) -> Dtype:
    """Type of activations, keys and values, and of products unless these are in fp8. Weights that
    are kept in 4 bytes are served in 2, as ``--dtype auto`` of vLLM has it.
    """
    if serving.precision not in (None, "fp8"):
        return serving.precision
    return "bf16" if model.dtype == "fp32" else model.dtype


def set_serving(serving: Serving, path: str, value: object) -> Serving:
    """*serving* with *value*, text or Python data, at *path*. Raises InputError."""
    name = path.partition(".")[2]
    fields = fields_of(Serving)
    if name not in fields:
        raise InputError(unknown("field of serving", name, fields), path)
    try:
        return set_field(serving, name, value)
    except InputError as error:
        raise InputError(error.message, path) from None


def effort_of_serving(serving: Serving) -> Effort:
    """The effort of one case, by all methods. Requests that all wait at the start go together, as
    many as are admitted; those that arrive by and by, as many as arrive while one is served.
    """
    together = float(min(serving.requests, serving.max_sequences))
    if serving.arrivals_per_second is not None:
        meanwhile = serving.arrivals_per_second * serving.output_tokens * STEP
        together = min(together, max(1.0, meanwhile))
    tokens = float(serving.requests * serving.output_tokens)
    prompts = serving.requests * (1 + serving.prompt_tokens / serving.batch_tokens)
    served = (tokens / together + prompts) * STEP_S + tokens * TOKEN_S
    return Effort(len(METHODS) * served + SIMULATED_S, serving.requests * REQUEST_BYTES)


BASE, BATCHED = "per_block", ("batched", "batched_pl")


#: What a row shows of the serving of its case.
SHOWN = {
    *("model", "tensor_parallel", "layout", "load", "hit_rate", "prompt_tokens", "output_tokens"),
    *("requests", "arrivals_per_second"),
}


#: How published costs of copies name a method.
METHOD_OF = {"loop": "per_block", "batch": "batched"}


_STEPS: dict[tuple[Any, ...], Steps] = {}  # of this process


def _steps(case: ServingCase) -> Steps:
    """The steps of *case*, which keep what they have simulated. Nodes of the same text are the
    same.
    """
    serving, text = case.serving, case.node.model_dump_json()
    own = (serving.model, serving.precision, serving.attention_efficiency)
    key = (text, serving.tensor_parallel, *own)
    if key not in _STEPS:
        cut = node_of(case.node, serving)
        _STEPS[key] = Steps(cut, case.model, serving.attention_efficiency, serving.precision)
    return _STEPS[key]


def copy_cost(node: Node, workgroups: int, reported: Sequence[Any], size: int) -> Row:
    """Time [s] of one block in a long fetch, by method, beside what is reported."""
    costs = {method: Fetch(node, method, size, workgroups).per_copy for method in METHODS}
    known = {
        METHOD_OF[entry["how"]]: entry["time_us"] * 1e-6
        for entry in reported
        if entry["bytes"] == size
    }
    return Row(bytes=size, per_copy_s=costs, reported_s=known)


def row_of(case: ServingCase) -> Row:
    """Figures of *case* by every method of fetching."""
    serving, steps = case.serving, _steps(case)
    block, copies = block_bytes(case.model, serving), copies_of(case.model, serving)
    methods = {}
    for method in METHODS:
        fetch = steps.fetch(method, block, serving.gather_workgroups)
        methods[method] = Row(fetch_s=fetch.alone(copies), **measures(serve(serving, steps, fetch)))
    base = methods[BASE]
    first, served = base["ttft_s"]["mean"], base["requests_per_s"]
    share = serving.tensor_parallel
    return Row(
        scenario=case.name,
        label=case.label or case.model.name + (f" on {share}" if share > 1 else ""),
        **serving.model_dump(include=SHOWN),
        block_bytes=block,
        copies=copies,
        fetched_bytes=block * copies,
        methods=methods,
        fetch_share=base["fetch_s"] / first if serving.requests == 1 else None,
        speedups={
            "latency": {name: first / run["ttft_s"]["mean"] for name, run in methods.items()},
            "throughput": {name: run["requests_per_s"] / served for name, run in methods.items()},
        },
    )


def best_beside(rows: Sequence[Row], published: Mapping[str, Any]) -> Row:
    """A *published* speedup beside the largest one of batched copies, in the rows that it is about:
    of latency one request, else many; and by which cases and blocks its low end is reached.
    """
    measure, low = published["of"], published["low"]

    def best(row: Row) -> float:
        return float(max(row.speedups[measure][name] for name in BATCHED))

    about = [row for row in rows if (row.requests == 1) == (measure == "latency")]
    reached = [row for row in about if best(row) >= low]
    missed = [row for row in about if best(row) < low]
    top = max(about, key=best, default=None)
    return Row(
        of=measure,
        low=low,
        high=published["high"],
        text=published["text"],
        simulated=None if top is None else best(top),
        where=None if top is None else top.scenario,
        cases=len(about),
        reached=[row.scenario for row in reached],
        reached_blocks=sorted({row.block_bytes for row in reached}),
        missed_blocks=sorted({row.block_bytes for row in missed}),
    )


def forget() -> None:
    """Forget the steps that were simulated."""
    _STEPS.clear()
