"""Random copies and collectives by DMA engines: whoever is folded gets what all GPUs get."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from law_runs import REL, ends

from c3sim.errors import InputErrors
from c3sim.simulation.folding import can_fold
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node, parse_workload

pytestmark = pytest.mark.turns(5)

NODES = {name: load_node(name) for name in ("h200-4", "mi300x-8", "teaching-4")}
SIZES = ("1 B", "64 B", "1 KiB", "20 KiB", "64 KiB", "1 MiB", "16 MiB")
WAYS = (
    {"source": "peer", "destination": "gpu"},
    {"source": "gpu", "destination": "peer"},
    {"source": "gpu", "destination": "peer", "direction": "pull"},
    {"source": "peer", "destination": "gpu", "direction": "push"},
    {"source": "host", "destination": "gpu"},
    {"source": "gpu", "destination": "gpu"},
)


def random_workload(random: Random, gpus: int) -> dict[str, Any]:
    tasks: dict[str, Any] = {}
    for number in range(random.randint(1, 3)):
        if random.random() < 0.6:
            task = {
                "kind": "copy",
                "bytes": random.choice(SIZES),
                "gpus": "all",
                **random.choice(WAYS),
            }
            if "peer" in task.values():
                task["peer"] = random.randint(1, gpus - 1)
            task["repeat"] = random.choice((1, 1, 3))
        else:
            variant = random.choice(("pcpy", "b2b", "pull"))
            task = {
                "kind": "collective",
                "op": random.choice(("all_gather", "all_to_all")),
                "backend": "dma",
            }
            task |= {"size": random.choice(SIZES[2:])} | (
                {"direction": "pull"} if variant == "pull" else {"variant": variant}
            )
        if tasks and random.random() < 0.3:
            task["after"] = [random.choice(list(tasks))]
        tasks[f"t{number}"] = task
    host = {
        "submission": random.choice(("one_by_one", "batch", "direct")),
        "prelaunched": random.random() < 0.3,
        "threads": random.choice(("per_gpu", "per_gpu", "single")),
    }
    return {"schema": 1, "name": "random", "tasks": tasks, "host": host}


@pytest.mark.slow
@pytest.mark.parametrize("name", NODES)
def test_random_copies_folded_equal_unfolded(name: str) -> None:
    node, random, folded = NODES[name], Random(11), 0
    for _ in range(120):
        try:
            workload = parse_workload(random_workload(random, node.gpus))
        except InputErrors:
            continue
        if not can_fold(workload, node):
            continue
        folded += 1
        one, all_of_them = (
            ends(simulate(node, workload)),
            ends(simulate(node, workload, fold=False)),
        )
        for (task, gpu), end in all_of_them.items():
            assert end == pytest.approx(one[task, 0], rel=REL), (workload, gpu)
    assert folded > 20
