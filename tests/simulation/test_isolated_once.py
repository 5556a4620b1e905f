"""Isolated times of equal tasks come from one simulation."""

from __future__ import annotations

import pytest
from law_nodes import scaled

from c3sim.simulation import runs
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading import library
from c3sim.spec.reading.loading import load_hardware, parse_workload
from c3sim.tasks.plan import KINDS


def test_a_task_is_simulated_once_whatever_its_name() -> None:
    """Three layers of the same two tasks, in one stream, waiting for each other: two runs."""
    tasks: dict[str, object] = {}
    for i in range(3):
        tasks[f"gemm{i}"] = {"kind": "gemm", "stream": "s", "m": 256, "n": 256, "k": 256}
        tasks[f"copy{i}"] = {
            "kind": "stream",
            "stream": "s",
            "bytes": "1 MiB",
            "after": [f"gemm{i}"],
        }
    node = load_hardware("teaching-4").node
    workload = parse_workload({"schema": 1, "name": "w", "node": "teaching-4", "tasks": tasks})
    runs.forget()
    ends = [runs.isolated(node, workload, name).end for name in workload.tasks]
    assert len(runs._runs) == 2
    assert ends[0] == ends[2] == ends[4] and ends[1] == ends[3] == ends[5]


PAIR: dict[str, object] = {
    "gemm": {"kind": "gemm", "m": 512, "n": 512, "k": 512},
    "gather": {"kind": "collective", "op": "all_gather", "size": "16 MiB"},
}


def test_a_gemm_alone_is_not_simulated_again_where_only_links_differ() -> None:
    """A loop over bandwidths of links: the GEMM once, the collective each time."""
    workload = parse_workload({"schema": 1, "name": "w", "node": "teaching-4", "tasks": PAIR})
    node = load_hardware("teaching-4").node
    runs.forget()
    for factor in (1.0, 0.9, 0.8):
        other = scaled(node, lambda path, _, by=factor: by if path == "links.bandwidth" else 1.0)
        for name in PAIR:
            runs.isolated(other, workload, name)
    assert len(runs._runs) == 1 + 3


@pytest.mark.parametrize("node", library.names("node"))
@pytest.mark.parametrize("kind", sorted(name for name, kind in KINDS.items() if kind.within_gpu))
def test_what_is_around_a_gpu_has_no_say_in_a_task_within_it(node: str, kind: str) -> None:
    """Every number of links, libraries of collectives and network halved: the same times."""
    tasks: dict[str, dict[str, object]] = {
        "gemm": {"kind": "gemm", "m": 2048, "n": 2048, "k": 2048},
        "stream": {"kind": "stream", "bytes": "64 MiB"},
        "hold": {"kind": "hold", "workgroups": 8, "time": "50 us"},
    }
    loaded = load_hardware(node).node
    workload = parse_workload({"schema": 1, "name": "w", "tasks": {runs.ALONE: tasks[kind]}})

    def halved(path: str, _unit: str) -> float:
        return 0.5 if path.split(".")[0] in runs.AROUND_A_GPU else 1.0

    other = scaled(loaded, halved)
    assert other != loaded
    assert simulate(other, workload).task(runs.ALONE) == simulate(loaded, workload).task(runs.ALONE)
