"""Predict the cases of a plan before they are measured: one JSON line per case.

    python tools/predict.py probe validation h200-2           a C3 plan of the probe
    python tools/predict.py loops PLAN.yaml NODE              of validation/frameworks/turns.py
    python tools/predict.py pieces PLAN.yaml NODE             of pieces.py or operators.py there
    python tools/predict.py iterations PLAN.yaml NODE         of iterations.py there
    python tools/predict.py pairs PLAN.yaml                   GEMMs and collectives of a file

Iterations are predicted on a host of unknown speed and for each slowness of a host
(``by_slowness``), pairs with the whole workload.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import c3sim
from c3sim.importers.loops import loop_workload
from c3sim.iterations.result import IterationResult
from c3sim.simulation.runs import isolated, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Iteration
from c3sim.spec.reading.loading import load_node, parse_workload
from c3sim.spec.units import parse_quantity
from c3sim.validation.frameworks import records
from c3sim.validation.frameworks.plan import cases_of, operators_of, pieces_of
from c3sim.validation.probing.plan import load_plan

Line = dict[str, Any]
MIB = 1 << 20
LOAD = ("skew", "seed")  # of a mixture of experts, among the sizes of a model
SAME = (
    *("layers", "head", "batch", "tokens", "context", "phase", "optimizer", "launch", "attention"),
    "fused",
)
DEPTH = 1000  # layers that a model has at most; a case says how many run
SLOWNESS = (0.8, 1.0, 1.3, 1.6, 2.0, 2.5)  # eager launches on a line between two of them


def model(sizes: dict[str, Any]) -> dict[str, Any]:
    """The model of validation/frameworks/models.py with these *sizes* as fields of a description:
    a decoder as Llama, or an encoder as BERT whose output head is run for every token.
    """
    rows, gated = sizes.get("positions", 0), sizes["gated"]
    fields = {name: value for name, value in sizes.items() if name not in ("positions", *LOAD)}
    fields |= {"layers": DEPTH, "bias": not gated, "dropout": not gated}
    if not gated:
        fields |= {"positions": "learned" if rows else "none", "learned_rows": rows or None}
    return fields


def description(name: str, case: dict[str, Any], sizes: dict[str, Any]) -> Iteration:
    """The case as an iteration: PyTorch, default kernels of the optimizer, no profiler."""
    parallel = {key: value for key, value in case["parallel"].items() if key != "bucket_mib"}
    if "bucket_mib" in case["parallel"]:
        parallel["bucket"] = case["parallel"]["bucket_mib"] * MIB
    fields = {key: case[key] for key in SAME if key in case}
    said = {"schema": 1, "kind": "iteration", "name": name, "parallel": parallel}
    how: dict[str, Any] = {
        "profile": "framework_alone",
        "optimizer_kernels": "foreach",
        "model": model(sizes),
    }
    load = {key: sizes[key] for key in LOAD if key in sizes}
    if load:
        how["mixture"] = load
    return Iteration.model_validate({**said, **how, **fields})


def compute(iteration: Iteration) -> Iteration:
    """The same without communication, as the driver runs it: a rank that has whole weights."""
    kinds = {entry.kind for entry in iteration.nested}
    if not kinds & {"ddp", "fsdp"}:
        return iteration
    return Iteration.model_validate(
        {**iteration.model_dump(by_alias=True), "parallel": {"kind": "none"}}
    )


def settings(case: dict[str, Any]) -> dict[str, Any]:
    """The collectives of *case*: on so many channels, or gathers by copy engines."""
    if case.get("by") == "engines":
        return {"set": {"tasks[op=all_gather].by": "engines"}}
    if "channels" in case:
        return {"set": {"tasks[kind=collective].channels": case["channels"]}}
    return {}


def predicted(iteration: Iteration, node: str, **how: Any) -> dict[str, Any]:
    """Seconds of *iteration* in each mode of the driver."""
    found, by_itself = c3sim.run(iteration, node=node, **how), compute(iteration)
    alone = found if by_itself is iteration else c3sim.run(by_itself, node=node)
    assert isinstance(found, IterationResult) and isinstance(alone, IterationResult)
    return {
        "together_s": round(found.wall_s, 6),
        "compute_s": round(alone.compute_s, 6),
        "communication_s": round(found.communication_s, 6),
        "exposed_s": round(found.overlap.exposed_s, 6),
        "host_bound": found.host_bound,
    }


def text_of(size: int) -> str:
    """As the probe names sizes: 64 MiB, 1 GiB."""
    units = ["B", "KiB", "MiB", "GiB"]
    while size % 1024 == 0 and len(units) > 1:
        size, units = size // 1024, units[1:]
    return f"{size} {units[0]}"


def workloads(words: list[str], node: Node) -> Iterator[dict[str, Any]]:
    """The workloads of one ``c3`` command, as the probe writes them on *node*: with its first
    libraries.
    """
    library, backend = next(iter(node.gpu.gemm_libraries)), next(iter(node.collective_libraries))
    last = node.gpu.compute_unit_count - 1
    options = dict(zip(words[1::2], words[2::2], strict=True))
    lists = [options[name].split(",") for name in ("--shape", "--op", "--size", "--variants")]
    part = int(options.get("--partition", 0))
    for shape, op, size, variant in itertools.product(*lists):
        size_bytes = int(parse_quantity(size, "B"))
        if variant.startswith("dma") and op in ("reduce_scatter", "all_reduce"):
            continue
        m, n, k = map(int, shape.split("x"))
        collective, streams, host = _varied(variant)
        collective = {"op": op, "size": size_bytes, "backend": backend, **collective}
        gemm: dict[str, Any] = {"kind": "gemm", "m": m, "n": n, "k": k, "library": library}
        if part:
            streams.setdefault("collective", {})["compute_units"] = f"0-{part - 1}"
            streams["gemm"] = {"compute_units": f"{part}-{last}"}
        tasks = {"gemm": gemm, "collective": {"kind": "collective", **collective}}
        for name in streams:
            tasks[name]["stream"] = name
        order = ["gemm", "collective"] if variant != "priority_first" else ["collective", "gemm"]
        yield {
            "schema": 1,
            "name": f"{shape} beside {op} {text_of(size_bytes)}, {variant}",
            "tasks": {name: tasks[name] for name in order},
            "streams": streams,
            "host": {**host, "order": order},
        }


def _varied(variant: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Fields of the collective, streams and host of *variant*."""
    if variant.startswith("channels"):
        return {"channels": int(variant[8:])}, {}, {}
    if variant == "priority_first":
        return {}, {"collective": {"priority": 1}}, {}
    if variant.startswith("dma"):
        pull = {"direction": "pull"} if variant == "dma_pull" else {}
        return {"backend": "dma", **pull}, {}, {"prelaunched": True}
    return {}, {}, {}


def us(seconds: float, digits: int = 2) -> float:
    return round(seconds * 1e6, digits)


def probe(plan: str, node: str) -> Iterator[Line]:
    machine = load_node(node)
    for step in load_plan(plan).steps:
        for data in workloads(step.words, machine):
            result = c3sim.run(parse_workload(data, plain_si=True), node=machine)
            yield {
                "workload": data["name"],
                "node": node,
                "step": step.name,
                "wall_us": us(result.wall_s),
                "tasks": {name: us(task.time_s) for name, task in result.tasks.items()},
                "isolated": {name: us(task.isolated_s) for name, task in result.tasks.items()},
            }


def loops(plan_file: str, node_name: str) -> Iterator[Line]:
    plan, node = records.plan_of(plan_file), load_node(node_name)
    for case in cases_of(plan):
        document = loop_workload({**asdict(case), "turns": plan["turns"]})
        workload = parse_workload(document, plain_si=True)
        run = run_once(node, workload)
        yield {
            "workload": workload.name,
            "node": node_name,
            "wall_us": us(run.end),
            "tasks": {t: us(run.task(t).end) for t in workload.tasks},
            "isolated": {t: us(isolated(node, workload, t).end) for t in workload.tasks},
        }


def pieces(plan_file: str, node_name: str) -> Iterator[Line]:
    plan, node = records.plan_of(plan_file), load_node(node_name)
    of_operators = "ways" in plan
    workload = records.operator if of_operators else records.piece
    for case in operators_of(plan) if of_operators else pieces_of(plan):
        plain = workload(plan, **case, node=node_name)
        run = run_once(node, parse_workload(plain, plain_si=True))
        of = {**case, **plan["gemms"].get(case["gemm"], {}), "node": node_name}
        yield {**of, "time_us": us(run.end)}


def iterations(plan_file: str, node: str) -> Iterator[Line]:
    plan = records.plan_of(plan_file)
    for name, case in plan["cases"].items():
        iteration = description(name, case, plan["models"][case["model"]])
        how = settings(case)
        line = {"name": name, "node": node, **predicted(iteration, node, **how)}
        if iteration.launch == "eager":
            hosts = {str(s): iteration.changed(slowness=s) for s in SLOWNESS}
            line["by_slowness"] = {s: predicted(each, node, **how) for s, each in hosts.items()}
        yield line


def pairs(file: str) -> Iterator[Line]:
    plan = records.plan_of(file)
    for gemm, collective in itertools.product(plan["gemm"], plan["collective"]):
        shape = "x".join(str(extent) for extent in gemm.values())
        document = {
            "schema": 1,
            "name": f"{shape} beside {' '.join(str(value) for value in collective.values())}",
            "tasks": {
                "collective": {"kind": "collective", **collective, "stream": "comm"},
                "gemm": {"kind": "gemm", **gemm, "inputs": "warm", "stream": "compute"},
            },
            "streams": {"comm": {}, "compute": {}},
            "host": plan["host"],
        }
        found = c3sim.run(parse_workload(document), node=plan["node"])
        yield {
            "workload": document,
            "node": plan["node"],
            "wall_us": us(found.wall_s, 1),
            "wall_p5_us": us(found.ranks.wall_p5_s, 1),
            "wall_p95_us": us(found.ranks.wall_p95_s, 1),
            "tasks": {
                name: {
                    "time_us": us(task.time_s, 1),
                    "waited_for_ranks_us": us(task.waited_for_ranks_s, 1),
                    "isolated_us": us(task.isolated_s, 1),
                }
                for name, task in found.tasks.items()
            },
        }


KINDS: dict[str, Callable[..., Iterator[Line]]] = {
    "probe": probe,
    "loops": loops,
    "pieces": pieces,
    "iterations": iterations,
    "pairs": pairs,
}


if __name__ == "__main__":
    for each in KINDS[sys.argv[1]](*sys.argv[2:]):
        print(json.dumps(each), flush=True)
