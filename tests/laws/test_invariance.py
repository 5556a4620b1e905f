"""Laws about what must not matter: the unit of time, units of input, order of declaration, and
running twice.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from law_cases import BIG, CASES, GATHER, NODES, REL, Case, ends, every_case, parsed
from law_nodes import scaled, without_power_limit
from law_runs import as_it_is, digest, each_once, first_digest

from c3sim.input import library
from c3sim.input.loading import load_hardware, parse_workload
from c3sim.simulation.simulate import simulate
from c3sim.specs.kernel import Kernel
from c3sim.specs.workload import Hold, HostTask


@every_case("halving_all_rates_and_clocks_doubles_every_time")
def test_halving_all_rates_and_clocks_doubles_every_time(case: Case) -> None:
    """Bandwidths and clocks halved, latencies doubled, bytes kept, no power limit: every time
    doubles.

    What fails here is a time or a rate hidden in the code, where no file can change it.
    """
    node = without_power_limit(case.node)
    half = scaled(node, lambda _path, unit: {"B/s": 0.5, "Hz": 0.5, "s": 2.0}.get(unit, 1.0))
    tasks = {
        name: task.model_copy(update={"time": 2 * task.time})
        if isinstance(task, HostTask | Hold | Kernel) and task.time is not None
        else task
        for name, task in case.workload.tasks.items()
    }
    host = case.workload.host
    if host.kernel_gap is not None:
        host = host.model_copy(update={"kernel_gap": 2 * host.kernel_gap})
    slow = simulate(half, case.workload.model_copy(update={"tasks": tasks, "host": host}))
    fast = simulate(node, case.workload)
    assert ends(slow) == pytest.approx({key: 2 * end for key, end in ends(fast).items()}, rel=REL)


@pytest.mark.parametrize("case", CASES[:: len(CASES) // 40], ids=str)
def test_compiled_loops_change_rounding_alone(case: Case) -> None:
    """A sample of all cases, unfolded, in compiled loops; tests/engine/test_compiled.py has random
    flows.
    """
    pytest.importorskip("numba")
    compiled = simulate(case.node, case.workload, fold=False, compiled=True)
    assert ends(compiled) == pytest.approx(
        ends(simulate(case.node, case.workload, fold=False)), rel=1e-12
    )


# Units --------------------------------------------------------------------------------------------
# ----------

NAMED_GPU = r"(?m)^gpu: *(\S+)"  # in a file of its own
# unit -> (another unit of the same dimension, how many of those make one)
OTHER = {
    "GB/s": ("MB/s", 1000),
    "TB/s": ("GB/s", 1000),
    "MB/s": ("GB/s", Fraction(1, 1000)),
    "GHz": ("MHz", 1000),
    "MHz": ("kHz", 1000),
    "us": ("ns", 1000),
    "ns": ("us", Fraction(1, 1000)),
    "GiB": ("MiB", 1024),
    "MiB": ("KiB", 1024),
    "KiB": ("B", 1024),
    "W": ("mW", 1000),
    "pJ/flop": ("fJ/flop", 1000),
    "pJ/B": ("fJ/B", 1000),
    "B/cycle": ("kB/cycle", Fraction(1, 1000)),
}
QUANTITY = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?) (" + "|".join(map(re.escape, OTHER)) + r")(?![\w/])"
)


def _in_other_units(text: str) -> str:
    def rewrite(match: re.Match[str]) -> str:
        unit, factor = OTHER[match[2]]
        number = (
            Fraction(match[1]) * factor
        )  # a decimal fraction still: factors are powers of 10, or of 2 and whole
        return f"{float(number)!r} {unit}"

    return "\n".join(
        re.sub(r"(value|interval):([^#\n\"]*)", lambda m: QUANTITY.sub(rewrite, m[0]), line)
        for line in text.split("\n")
    )


@pytest.mark.parametrize(
    "name", [name for name in NODES if re.search(NAMED_GPU, library.find("node", name).read_text())]
)
def test_units_do_not_matter(name: str, tmp_path: Path) -> None:
    """The packaged files and the same ones in other units (48.5 GB/s as 48500 MB/s, ...) load to
    equal nodes.
    """
    node_text = library.find("node", name).read_text()
    gpu_name = re.search(NAMED_GPU, node_text)[1]
    gpu_text = library.find("gpu", gpu_name).read_text()
    other_node, other_gpu = _in_other_units(node_text), _in_other_units(gpu_text)
    assert len(set(gpu_text.split("\n")) - set(other_gpu.split("\n"))) > 10  # it did rewrite them
    (tmp_path / "other.yaml").write_text(other_node.replace(f"gpu: {gpu_name}", "gpu: gpu.yaml"))
    (tmp_path / "gpu.yaml").write_text(other_gpu)
    assert load_hardware(tmp_path / "other.yaml").node == NODES[name]


def test_units_of_a_workload_do_not_matter() -> None:
    def gather(size: str) -> object:
        return parse_workload(
            {"schema": 1, "name": "w", "tasks": {"gather": {**GATHER, "size": size}}}
        )

    assert gather("896 MiB") == gather("0.875 GiB") == gather("917504 KiB") == gather("939524096 B")


# Order --------------------------------------------------------------------------------------------
# ----------


@every_case("declaration_order_changes_only_ties", lambda c: len(c.workload.tasks) > 1)
def test_declaration_order_changes_only_ties(case: Case) -> None:
    """Tasks that arrive at the same instant are launched in the host's order. With that order
    given, the order in which tasks and streams are declared decides nothing.
    """
    order = case.workload.host.order or tuple(case.workload.tasks)
    host = case.workload.host.model_copy(update={"order": order})
    tasks = dict(reversed(case.workload.tasks.items()))
    streams = dict(reversed(case.workload.streams.items()))
    other = case.workload.model_copy(update={"host": host, "tasks": tasks, "streams": streams})
    written, _ = as_it_is(case)
    assert ends(simulate(case.node, other)) == pytest.approx(ends(written), rel=REL)


@pytest.mark.parametrize("node", NODES)
def test_launch_order_decides_ties_and_priority_decides_before_it(node: str) -> None:
    """Two kernels that each want every compute unit arrive at the same instant: a tie, which launch
    order decides. With different priorities there is no tie: the higher one is first, whoever was
    launched first.
    """

    def end_of_gemm(order: list[str], priority: int) -> float:
        gemm = {**BIG, "macro_tile": [256, 256], "stream": "g"}
        units = NODES[node].gpu.compute_unit_count
        hold = {"kind": "hold", "workgroups": units, "time": "20 us", "stream": "s"}  # all LDS
        case = {
            "tasks": {"gemm": gemm, "stream": hold},
            "streams": {"g": {"priority": priority}, "s": {}},
            "host": {"order": order},
        }
        return simulate(NODES[node], parsed("two", case)).task("gemm").end

    assert end_of_gemm(["gemm", "stream"], 0) < end_of_gemm(["stream", "gemm"], 0)
    assert end_of_gemm(["gemm", "stream"], 1) == end_of_gemm(["stream", "gemm"], 1)


# Repetition
# -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@every_case("same_input_same_bytes")
def test_same_input_same_bytes(case: Case) -> None:
    """A second run in one process, which finds caches filled, gives the same JSON to the bit."""
    assert digest(simulate(case.node, case.workload, trace=True)) == first_digest(case)


@pytest.mark.slow
def test_same_input_same_bytes_in_another_process() -> None:
    """Nor does the order in which Python happens to keep sets of strings matter. Every workload on
    one node: an order is of the program, which is the same for all nodes.
    """
    script = (
        "from law_runs import each_once, first_digest\n"
        "for case in each_once(): print(case, first_digest(case))"
    )
    here = os.environ.get("PYTHONHASHSEED")  # where it is not set it is random
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "1" if here != "1" else "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    assert run.stdout.splitlines() == [f"{case} {first_digest(case)}" for case in each_once()]
