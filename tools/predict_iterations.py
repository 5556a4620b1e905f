"""Predicts the iterations of a plan of validation/frameworks before they are measured: one JSON
line per case, on a host of unknown speed and for each slowness of a host (``by_slowness``).

python tools/predict_iterations.py validation/frameworks/iterations.yaml h200-2
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

import c3sim
from c3sim.iterations.result import IterationResult
from c3sim.spec.iteration import Iteration

MIB = 1 << 20
LOAD = ("skew", "seed")  # of a mixture of experts, among the sizes of a model
SAME = ("layers", "head", "batch", "tokens", "context", "phase", "optimizer", "launch", "attention")
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


def main(plan_file: str, node: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    for name, case in plan["cases"].items():
        iteration = description(name, case, plan["models"][case["model"]])
        how = settings(case)
        line = {"name": name, "node": node, **predicted(iteration, node, **how)}
        if iteration.launch == "eager":
            hosts = {str(s): iteration.model_copy(update={"slowness": s}) for s in SLOWNESS}
            line["by_slowness"] = {s: predicted(each, node, **how) for s, each in hosts.items()}
        print(json.dumps(line), flush=True)


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


if __name__ == "__main__":
    main(*sys.argv[1:])
