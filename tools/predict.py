"""Predicts every run of a C3 plan of the probe before it is measured: one JSON line per run, by the
name of its workload.

python tools/predict.py validation h200-2 > docs/predictions/h200-2-c3.jsonl
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

import c3sim
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_hardware, parse_workload
from c3sim.spec.units import parse_quantity
from c3sim.validation.probing.plan import load_plan


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
        collective: dict[str, Any] = {
            "kind": "collective",
            "op": op,
            "size": size_bytes,
            "backend": backend,
        }
        gemm: dict[str, Any] = {"kind": "gemm", "m": m, "n": n, "k": k, "library": library}
        streams: dict[str, Any] = {}
        host: dict[str, Any] = {}
        order = ["gemm", "collective"]
        if variant.startswith("channels"):
            collective["channels"] = int(variant[8:])
        elif variant == "priority_first":
            streams["collective"] = {"priority": 1}
            order.reverse()
        elif variant.startswith("dma"):
            collective["backend"] = "dma"
            host["prelaunched"] = True
            if variant == "dma_pull":
                collective["direction"] = "pull"
        if part:
            streams.setdefault("collective", {})["compute_units"] = f"0-{part - 1}"
            streams["gemm"] = {"compute_units": f"{part}-{last}"}
        tasks = {"gemm": gemm, "collective": collective}
        for name in streams:
            tasks[name]["stream"] = name
        yield {
            "schema": 1,
            "name": f"{shape} beside {op} {text_of(size_bytes)}, {variant}",
            "tasks": {name: tasks[name] for name in order},
            "streams": streams,
            "host": {**host, "order": order},
        }


def main(plan: str, node: str) -> None:
    machine = load_hardware(node).node
    for step in load_plan(plan).steps:
        for data in workloads(step.words, machine):
            result = c3sim.run(parse_workload(data, plain_si=True), node=machine)
            line = {
                "workload": data["name"],
                "node": node,
                "step": step.name,
                "wall_us": round(result.wall_s * 1e6, 2),
                "tasks": {name: round(task.time_s * 1e6, 2) for name, task in result.tasks.items()},
                "isolated": {
                    name: round(task.isolated_s * 1e6, 2) for name, task in result.tasks.items()
                },
            }
            print(json.dumps(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
